import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type ConnectRouter,
  type ConnectRouterOptions,
  type ContextValues,
  createConnectRouter,
} from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import type { BeginRequest } from "../admission/begin-request.js";
import type { RouteScope } from "../admission/rate-gate.js";
import { ensureParsableUrl } from "./rpc-address.js";

export interface RpcOptions extends ConnectRouterOptions {
  routes(router: ConnectRouter): void;
  contextValues?(request: IncomingMessage): ContextValues;
}

/** Limits of health and reflection, which require no key: their requests contain only a name. */
export const KEYLESS_RPC_LIMITS = { readMaxBytes: 16 * 1024 };

/** Handles a request before the framework does. Returns whether its path is one of a method. */
export type RpcPort = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Serves gRPC, gRPC-Web and Connect straight from the port. The framework would add eight routes for each method, which
 * took a ninth of a start's processor time.
 * @param scopes the rate-limit scope of each path.
 */
export function createRpcPort(
  { routes, contextValues, ...options }: RpcOptions,
  begin: BeginRequest,
  scopes: ReadonlyMap<string, RouteScope>,
): RpcPort {
  const router = createConnectRouter(options);
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const serve = async (handler: UniversalHandler, request: IncomingMessage, response: ServerResponse) => {
    const { requestPath } = handler;
    await begin(request, response, { template: requestPath, scope: scopes.get(requestPath) });
    ensureParsableUrl(request, requestPath);
    const call = universalRequestFromNodeRequest(request, response, undefined, contextValues?.(request));
    await universalResponseToNodeResponse(await handler(call), response);
  };
  return (request, response) => {
    // OPTIONS asks what a browser may send, which is the same for all paths.
    const handler = request.method === "OPTIONS" ? undefined : handlers.get(pathIn(request.url ?? ""));
    // The caller is gone, or its response could not be written: it must not wait for the rest.
    if (handler) serve(handler, request, response).catch(() => response.destroy());
    return handler !== undefined;
  };
}

/** The path in a request's target, which may end in a slash. */
function pathIn(target: string): string {
  const query = target.indexOf("?");
  const path = query < 0 ? target : target.slice(0, query);
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
