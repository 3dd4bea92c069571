import type { DescMethodUnary } from "@bufbuild/protobuf";
import { compileRestMethods, type RestMethod } from "../../src/api/rest/rest-method.js";
import { methods } from "./methods.js";

/** The routes that the transcoder derives from all methods, whether or not they have a handler. */
export const routes: readonly RestMethod[] = methods
  .filter((method): method is DescMethodUnary => method.methodKind === "unary")
  .flatMap((desc) =>
    compileRestMethods(
      {
        desc,
        serve: () => Promise.reject(new Error("not called")),
        headersOf: () => [],
        replay: undefined,
        shownToFrame: (message) => message,
      },
      1_000,
    ),
  );
