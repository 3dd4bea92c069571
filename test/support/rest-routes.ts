import { readdirSync } from "node:fs";
import type { DescMethodUnary, DescService } from "@bufbuild/protobuf";
import { type RestMethod, restMethodsOf } from "../../src/api/rest/rest-method.js";

/** Every service of the protos. */
async function services(): Promise<DescService[]> {
  const names = readdirSync("gen/cloakroom/v1").map((file) => file.replace(".ts", ""));
  const modules = await Promise.all(names.map((name) => import(`../../gen/cloakroom/v1/${name}.ts`)));
  return modules.flatMap((module) => Object.values(module)).filter(isService);
}

function isService(value: unknown): value is DescService {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "service";
}

/** The routes that the transcoder makes of all methods, whether or not they have a handler. */
export const routes: readonly RestMethod[] = (await services())
  .flatMap(({ methods }) => methods)
  .filter((method): method is DescMethodUnary => method.methodKind === "unary")
  .flatMap((desc) => restMethodsOf({ desc, serve: () => Promise.reject(new Error("not called")) }, 1_000));
