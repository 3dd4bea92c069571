import { type RouteScope, readRateScope } from "../admission/rate-gate.js";
import type { Pipeline } from "../pipeline/pipeline.js";
import { compileRestMethods, type RestMethod } from "./rest-method.js";

export interface RestRoute {
  readonly rest: RestMethod;
  readonly pipeline: Pipeline;
  readonly scope: RouteScope;
}

export function listRestRoutes(pipelines: readonly Pipeline[], bodyLimit: number): RestRoute[] {
  return pipelines.flatMap((pipeline) =>
    compileRestMethods(pipeline.method, bodyLimit).map((rest) => ({
      rest,
      pipeline,
      scope: readRateScope(rest.method.desc),
    })),
  );
}
