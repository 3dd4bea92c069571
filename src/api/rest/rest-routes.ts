import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Fault } from "../../base/fault.js";
import { isLarge, yieldToEventLoop } from "../../base/yield-to-event-loop.js";
import { FunctionFailed } from "../../functions/function-failed.js";
import type { VerbatimResponse } from "../../services/call.js";
import { rateScopeOf } from "../admission/rate-gate.js";
import { refuseLoadAsPage } from "../browser/fetch-metadata.js";
import { passedHeaders } from "../browser/origin-headers.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { faultHeaders, functionProblem, PROBLEM_TYPE, problemOf } from "../faults/problem.js";
import { isCancelled, type Observation, type Observe, toFault } from "../observation/observation.js";
import { parentSpanIn, traceOf } from "../observation/trace.js";
import type { Pipeline } from "../pipeline/pipeline.js";
import type { RequestHead } from "../request/request-head.js";
import { routePath } from "../routes/path-template.js";
import { isRpcCall, refuseUnknownMethod } from "../rpc/unknown-method.js";
import { RestHead } from "./rest-head.js";
import { type RestMethod, restMethodsOf } from "./rest-method.js";
import { ServedPaths } from "./served-paths.js";

const JSON_TYPE = "application/json; charset=utf-8";

/** Serves every method at the paths that its proto declares. */
export function registerRest(
  app: FastifyInstance,
  pipelines: readonly Pipeline[],
  bodyLimit: number,
  observe: Observe,
): void {
  const paths = new ServedPaths();
  for (const pipeline of pipelines) {
    paths.addCall(pipeline.method.desc);
    for (const rest of restMethodsOf(pipeline.method, bodyLimit)) {
      paths.add(rest.path, rest.verb);
      app.route({
        method: rest.verb,
        url: routePath(rest.path),
        config: { rateScope: rateScopeOf(rest.method.desc) },
        handler: (request, reply) => respond(rest, pipeline, observe, request, reply),
      });
    }
  }
  refuseOtherMethods(app, paths);
  app.setNotFoundHandler((request, reply) => {
    if (isRpcCall(request.raw)) {
      reply.hijack();
      return refuseUnknownMethod(request.raw, reply.raw);
    }
    const methods = paths.methodsAt(request.raw.url ?? "");
    if (methods) return refuseMethod(request, reply, methods);
    return sendFault(reply, new Fault("not_found", "There is nothing at this path."), traceOf(request.raw));
  });
}

/**
 * Routes the other methods that the framework knows. Those that it does not know, 26 of Node's 35, reach the handler for
 * unknown paths: routes for all of them cost each start 0.1 s of processor time.
 */
function refuseOtherMethods(app: FastifyInstance, paths: ServedPaths): void {
  // OPTIONS asks what a browser may send. The framework adds HEAD to GET.
  const known = app.supportedMethods.filter((method) => !["HEAD", "OPTIONS"].includes(method));
  for (const [url, served] of paths.entries()) {
    const refuse = (request: FastifyRequest, reply: FastifyReply) => refuseMethod(request, reply, served);
    app.route({
      method: known.filter((method) => !served.has(method)),
      url,
      // Before the framework looks at the body: it refuses a QUERY without one.
      onRequest: async (request, reply) => refuse(request, reply),
      handler: refuse,
    });
  }
}

function refuseMethod(request: FastifyRequest, reply: FastifyReply, served: ReadonlySet<string>): FastifyReply {
  const allow = [...served].join(", ");
  reply.header("allow", allow);
  return sendFault(reply, new Fault("method_not_allowed", `This path takes ${allow}.`), traceOf(request.raw));
}

async function respond(
  rest: RestMethod,
  pipeline: Pipeline,
  observe: Observe,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const traceId = traceOf(request.raw);
  const observation = observe({
    rpc: rest.method.desc.name,
    route: rest.path.text,
    traceId,
    parent: parentSpanIn(request.raw),
  });
  const head = new RestHead(request.raw, reply.raw, traceId);
  try {
    refuseLoadAsPage(request.headers);
    const admission = await pipeline.admit(head);
    observation.caller = admission.caller;
    const { message, unreadable, partial } = await rest.read(request.raw, parametersOf(request), queryOf(request));
    const result = await pipeline.run(admission, message, unreadable, partial);
    const { message: response, headers, accepted, verbatim } = result;
    if (verbatim) {
      observation.end(verbatim.status);
      return sendVerbatim(request, reply, verbatim);
    }
    const body = rest.write(response, request.raw.headers);
    const status = accepted ? 202 : rest.status;
    reply.code(status);
    for (const [name, value] of headers) reply.header(name, value);
    observation.end(status);
    if (body === undefined || accepted) return reply.send();
    reply.header("content-type", JSON_TYPE);
    return reply.send(isLarge(body.length) ? await encoded(body) : body);
  } catch (error) {
    return refuse(error instanceof Fault ? rest.asSent(error) : error, observation, reply, head);
  }
}

/** The bytes of a large text, in a turn of the event loop of their own: the framework would encode it twice. */
async function encoded(text: string): Promise<Buffer> {
  await yieldToEventLoop(text.length);
  const bytes = Buffer.from(text);
  await yieldToEventLoop(bytes.length);
  return bytes;
}

/**
 * Statuses without a body (RFC 9110, 15.3.5, 15.3.6 and 15.4.5). Over HTTP/2 Node sends none either, and clients reset
 * a stream whose content-length announces more than it has.
 */
const BODILESS = new Set([204, 205, 304]);

/**
 * Sends the response of tenants' code: text unchanged, anything else as JSON. The code's headers replace ours, except for
 * the trace id and those that act on the vault's origin.
 */
function sendVerbatim(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, body }: VerbatimResponse,
): FastifyReply {
  const isText = typeof body === "string";
  const isBodiless = BODILESS.has(status);
  const passes = passedHeaders(request.headers);
  reply.code(status);
  if (!isBodiless) reply.header("content-type", isText ? "text/plain; charset=utf-8" : JSON_TYPE);
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() !== "bt-trace-id" && passes(name, value)) reply.header(name, value);
  }
  return isBodiless ? reply.send() : reply.send(Buffer.from(isText ? body : JSON.stringify(body)));
}

function refuse(error: unknown, observation: Observation, reply: FastifyReply, head: RequestHead): FastifyReply {
  if (error instanceof FunctionFailed) {
    observation.failFunction(error.status, "reactor_error");
    const problem = functionProblem(error, "reactor_error", head.traceId);
    return reply.code(error.status).header("content-type", PROBLEM_TYPE).send(JSON.stringify(problem));
  }
  if (!(error instanceof Fault) && isCancelled(error, head.signal)) observation.cancel("canceled");
  const fault = toFault(error);
  observation.fail(FAULT_TABLE[fault.code].http, fault);
  return sendFault(reply, fault, head.traceId);
}

export function sendFault(reply: FastifyReply, fault: Fault, traceId: string): FastifyReply {
  const problem = problemOf(fault, traceId);
  reply.code(problem.status).headers({ ...faultHeaders(fault), "content-type": PROBLEM_TYPE });
  return reply.send(JSON.stringify(problem));
}

function queryOf({ raw: { url = "" } }: FastifyRequest): string {
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}

function parametersOf({ params }: FastifyRequest): Record<string, string> {
  const parameters: Record<string, string> = {};
  if (typeof params !== "object" || params === null) return parameters;
  for (const [name, value] of Object.entries(params)) if (typeof value === "string") parameters[name] = value;
  return parameters;
}
