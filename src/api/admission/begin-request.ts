import type { ArrivedRequest, OpenResponse } from "../connection/exchange.js";
import type { RouteScope } from "./rate-gate.js";

export interface BegunRoute {
  /** The path template. Undefined where none fits the path. */
  readonly template: string | undefined;
  /** The rate-limit scope beside `global`. */
  readonly scope?: RouteScope;
}

/** The first step of a request, whatever serves it. Resolves once it may be read; undefined: it may at once. */
export type BeginRequest = (
  request: ArrivedRequest,
  response: OpenResponse,
  route: BegunRoute,
) => Promise<unknown> | undefined;
