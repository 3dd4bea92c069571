// Lets a bare `node` run our sources: they import `./x.js`, which only exists as `./x.ts` before the build.
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, next) {
    const ours = specifier.startsWith(".") && specifier.endsWith(".js") && context.parentURL?.endsWith(".ts");
    return next(ours ? `${specifier.slice(0, -3)}.ts` : specifier, context);
  },
});
