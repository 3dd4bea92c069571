// Lets plain `node` run our sources: they import `./x.js`, which exists as `./x.ts` until the build.
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = specifier.startsWith(".") && specifier.endsWith(".js") && context.parentURL?.endsWith(".ts");
    return next(isOurs ? `${specifier.slice(0, -3)}.ts` : specifier, context);
  },
});
