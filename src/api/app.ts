import Fastify, { type FastifyInstance } from "fastify";
import { Fault } from "../base/fault.js";
import { findRateRefusal } from "./admission/rate-gate.js";
import type { RequestEdge } from "./arrival/request-edge.js";
import type { ServerOptions } from "./arrival/server-options.js";
import { dropUnreadBody } from "./connection/unread-body.js";
import { sendFault } from "./faults/send-fault.js";
import { toFault } from "./observation/observation.js";
import { requestTraceId } from "./observation/trace.js";
import { isRpcCall, refuseUnknownMethod } from "./rpc/unknown-method.js";

/** The framework with its hooks, and without a route. */
export function createApp(options: ServerOptions, edge: RequestEdge): FastifyInstance {
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: true,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 3 * 400 },
    // Runs for a path that the router cannot read: broken percent-encoding, or longer than any id. No hook runs for it.
    frameworkErrors: (_error, { raw }, reply) => {
      const refuse = async () => {
        await edge.begin(raw, reply.raw, { template: undefined });
        const fault = findRateRefusal(raw) ?? new Fault("malformed_body", "The path could not be read.");
        await sendFault(reply, fault, requestTraceId(raw));
      };
      refuse().catch(() => reply.raw.destroy());
    },
  });
  // Handlers read bodies, after authentication.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  refuseUnknownPaths(app);
  addRequestHooks(app, options, edge);
  addResponseHooks(app, options);
  app.setErrorHandler((error, request, reply) => {
    const isOurs = error instanceof Fault || statusOf(error) >= 500;
    return sendFault(reply, isOurs ? toFault(error) : unreadable(statusOf(error)), requestTraceId(request.raw));
  });
  return app;
}

function refuseUnknownPaths(app: FastifyInstance): void {
  app.setNotFoundHandler((request, reply) => {
    const { raw } = request;
    if (isRpcCall(raw)) {
      reply.hijack();
      return refuseUnknownMethod(raw, reply.raw);
    }
    return sendFault(reply, new Fault("not_found", "There is nothing at this path."), requestTraceId(raw));
  });
}

function addRequestHooks(
  app: FastifyInstance,
  { rateGate }: ServerOptions,
  { cors, inFlight, prepare }: RequestEdge,
): void {
  app.addHook("onRequest", (request, reply, done) => {
    inFlight.route(reply.raw, request.method, request.routeOptions.url);
    prepare(request.raw, reply.raw);
    if (request.method !== "OPTIONS") return done();
    reply.hijack();
    cors.respondToPreflight(request.raw, reply.raw);
  });
  app.addHook("onRequest", async (request, reply) => {
    const refused = await rateGate.pass(request.raw, reply.raw, request.routeOptions.config.rateScope);
    if (!refused) return;
    return sendFault(reply, refused, requestTraceId(request.raw));
  });
}

function addResponseHooks(app: FastifyInstance, { meters }: ServerOptions): void {
  app.addHook("onResponse", (request, reply, done) => {
    const { method, routeOptions } = request;
    meters.request(method, routeOptions.url, reply.raw.statusCode, reply.elapsedTime / 1_000);
    done();
  });
  app.addHook("onSend", (request, reply, _payload, done) => {
    if (request.raw.complete) return done();
    dropUnreadBody(request.raw).then((isAllRead) => {
      if (!isAllRead && request.raw.httpVersionMajor === 1) reply.header("connection", "close");
      done();
    }, done);
  });
}

/** The fault for what Fastify refuses before a handler runs, mostly a malformed content type. */
function unreadable(status: number): Fault {
  return status === 415
    ? new Fault("unsupported_media_type", "The Content-Type could not be read.")
    : new Fault("malformed_body", "The request could not be read.");
}

function statusOf(error: unknown): number {
  return error instanceof Error && "statusCode" in error && typeof error.statusCode === "number"
    ? error.statusCode
    : 500;
}
