import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault } from "../../base/fault.js";
import type { BeginRequest } from "../admission/begin-request.js";
import { findRateRefusal } from "../admission/rate-gate.js";
import type { Observe } from "../observation/observation.js";
import { requestTraceId } from "../observation/trace.js";
import { respond } from "./respond.js";
import { type RestExchange, sendFaultReply } from "./rest-exchange.js";
import { type FoundPath, type RestPath, RestPaths } from "./rest-paths.js";
import type { RestRoute } from "./rest-route.js";

/** Handles a request before the framework does. Returns whether its path is one of REST. */
export type RestPort = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Characters of a variable: those of the longest id, each percent-encoded. */
const MAX_VARIABLE = 3 * 400;

/**
 * Serves REST straight from the port: the framework's router, hooks and reply cost as much as reading a body (decision
 * 0043).
 */
export function createRestPort(routes: readonly RestRoute[], begin: BeginRequest, observe: Observe): RestPort {
  const paths = new RestPaths(routes);
  const serve = async (exchange: RestExchange, { path, parameters }: FoundPath): Promise<void> => {
    const { request, response } = exchange;
    const { method = "" } = request;
    const route = path.routes.get(method) ?? (method === "HEAD" ? path.routes.get("GET") : undefined);
    const counted = begin(request, response, { template: path.text, scope: route?.scope });
    if (counted) await counted;
    const refused = findRateRefusal(request) ?? faultOfPath(request, parameters);
    if (refused) await sendFaultReply(exchange, refused, requestTraceId(request));
    else if (route) await respond(route, parameters, exchange, observe);
    else await refuseMethod(exchange, path);
  };
  return (request, response) => {
    // OPTIONS asks what a browser may send, which is the same for all paths.
    const found = request.method === "OPTIONS" ? undefined : paths.find(request.url ?? "");
    // Writing the response failed: its caller must not wait for it.
    if (found) serve({ request, response }, found).catch(() => response.destroy());
    return found !== undefined;
  };
}

function faultOfPath({ url = "" }: IncomingMessage, parameters: Readonly<Record<string, string>>): Fault | undefined {
  if (url.length <= MAX_VARIABLE) return undefined;
  const isTooLong = Object.values(parameters).some(({ length }) => length > MAX_VARIABLE);
  return isTooLong ? new Fault("malformed_body", "The path could not be read.") : undefined;
}

function refuseMethod(exchange: RestExchange, { routes }: RestPath): Promise<void> {
  const allow = [...routes.keys()].join(", ");
  exchange.response.setHeader("allow", allow);
  const fault = new Fault("method_not_allowed", `This path takes ${allow}.`);
  return sendFaultReply(exchange, fault, requestTraceId(exchange.request));
}
