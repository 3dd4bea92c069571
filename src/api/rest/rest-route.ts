import { type RouteScope, rateScopeOf } from "../admission/rate-gate.js";
import type { Pipeline } from "../pipeline/pipeline.js";
import { type RestMethod, restMethodsOf } from "./rest-method.js";

export interface RestRoute {
  readonly rest: RestMethod;
  readonly pipeline: Pipeline;
  readonly scope: RouteScope;
}

export function restRoutesOf(pipelines: readonly Pipeline[], bodyLimit: number): RestRoute[] {
  return pipelines.flatMap((pipeline) =>
    restMethodsOf(pipeline.method, bodyLimit).map((rest) => ({ rest, pipeline, scope: rateScopeOf(rest.method.desc) })),
  );
}
