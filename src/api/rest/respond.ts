import { Fault } from "../../base/fault.js";
import { isLarge, yieldToEventLoop } from "../../base/yield-to-event-loop.js";
import { FunctionFailed } from "../../functions/function-failed.js";
import type { VerbatimResponse } from "../../services/call.js";
import { refuseLoadAsPage } from "../browser/fetch-metadata.js";
import { passedHeaders } from "../browser/origin-headers.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { functionProblem, PROBLEM_TYPE } from "../faults/problem.js";
import { isCancelled, type Observation, type Observe, toFault } from "../observation/observation.js";
import { parentSpanIn, requestTraceId } from "../observation/trace.js";
import { queryIn } from "../request/query.js";
import type { RequestHead } from "../request/request-head.js";
import { type RestExchange, type RestReply, sendFaultReply, sendReply } from "./rest-exchange.js";
import { RestHead } from "./rest-head.js";
import type { RestRoute } from "./rest-route.js";

const JSON_TYPE = "application/json; charset=utf-8";

export async function respond(
  { rest, pipeline }: RestRoute,
  parameters: Readonly<Record<string, string>>,
  exchange: RestExchange,
  observe: Observe,
): Promise<void> {
  const { request, response } = exchange;
  const traceId = requestTraceId(request);
  const observation = observe({
    rpc: rest.method.desc.name,
    route: rest.path.text,
    traceId,
    parent: parentSpanIn(request),
  });
  const head = new RestHead(request, response, traceId);
  try {
    refuseLoadAsPage(request.headers);
    const admission = await pipeline.admit(head);
    observation.caller = admission.caller;
    const result = await pipeline.run(admission, await rest.read(request, parameters, queryIn(request.url)));
    const { headers, accepted, verbatim } = result;
    if (verbatim) {
      observation.end(verbatim.status);
      return await sendReply(exchange, verbatimReply(exchange, verbatim));
    }
    const body = rest.write(result.message, request.headers);
    const status = accepted ? 202 : rest.status;
    for (const [name, value] of headers) response.setHeader(name, value);
    observation.end(status);
    if (body === undefined || accepted) return await sendReply(exchange, { status });
    await sendReply(exchange, { status, type: JSON_TYPE, body: isLarge(body.length) ? await encoded(body) : body });
  } catch (error) {
    await refuse(error instanceof Fault ? rest.asSent(error) : error, observation, exchange, head);
  }
}

/** The bytes of a large text, in a turn of the event loop of their own. */
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
 * The response of tenants' code: text unchanged, anything else as JSON. The code's headers replace ours, except for the
 * trace id and those that act on the vault's origin.
 */
function verbatimReply({ request, response }: RestExchange, { status, headers, body }: VerbatimResponse): RestReply {
  const isText = typeof body === "string";
  const isBodiless = BODILESS.has(status);
  const passes = passedHeaders(request.headers);
  if (!isBodiless) response.setHeader("content-type", isText ? "text/plain; charset=utf-8" : JSON_TYPE);
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() !== "bt-trace-id" && passes(name, value)) response.setHeader(name.toLowerCase(), value);
  }
  return isBodiless ? { status } : { status, body: isText ? body : JSON.stringify(body) };
}

async function refuse(
  error: unknown,
  observation: Observation,
  exchange: RestExchange,
  { signal, traceId }: RequestHead,
): Promise<void> {
  if (error instanceof FunctionFailed) {
    observation.failFunction(error.status, "reactor_error");
    const body = JSON.stringify(functionProblem(error, "reactor_error", traceId));
    return sendReply(exchange, { status: error.status, type: PROBLEM_TYPE, body });
  }
  if (!(error instanceof Fault) && isCancelled(error, signal)) observation.cancel("canceled");
  const fault = toFault(error);
  observation.fail(FAULT_TABLE[fault.code].http, fault);
  return sendFaultReply(exchange, fault, traceId);
}
