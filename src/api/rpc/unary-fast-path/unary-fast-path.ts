import type { IncomingMessage } from "node:http";
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Fault } from "../../../base/fault.js";
import { joinedHeader } from "../../../base/joined-header.js";
import { BodyTooLarge } from "../../../memory/body-errors.js";
import { collectBody } from "../../../memory/collect-body.js";
import type { BeginRequest } from "../../admission/begin-request.js";
import { findRateRefusal, type RouteScope, readRateScope } from "../../admission/rate-gate.js";
import type { Visits } from "../../browser/visits.js";
import type { WholeResponse } from "../../connection/exchange.js";
import type { StreamRequest } from "../../connection/stream-exchange.js";
import { dropUnreadBody } from "../../connection/unread-body.js";
import type { Observe } from "../../observation/observation.js";
import { parentSpanIn, requestTraceId } from "../../observation/trace.js";
import type { Pipeline } from "../../pipeline/pipeline.js";
import { requestMemory } from "../../request/open-memory.js";
import { CallHead } from "../call-head.js";
import { messageTooLarge } from "../rpc-body.js";
import { methodLimits, type RpcLimits } from "../rpc-call.js";
import { toConnectError } from "../rpc-error.js";
import { admitCall, recordFailure, runCall } from "../rpc-method.js";
import { CallAbort } from "./call-abort.js";
import { readCallBody } from "./call-body.js";
import { chooseConnectWire } from "./connect-wire.js";
import { chooseGrpcWire } from "./grpc-wire.js";
import type { UnaryWire } from "./wire.js";

/** Returns what serves a request; undefined for one that Connect's own handlers serve. */
export type UnaryFastPath = (request: IncomingMessage | StreamRequest) => ServeCall | undefined;

type ServeCall = (response: WholeResponse) => void;

interface FastPathParts {
  readonly observe: Observe;
  readonly visits: Visits;
  readonly begin: BeginRequest;
}

/**
 * The fast path for the usual calls of back ends and browsers: one uncompressed message over gRPC, gRPC-Web or Connect,
 * straight from the port through the same pipeline as REST. Connect's handlers, which serve all other calls, pass them
 * through a chain of asynchronous iterators over web streams and Headers, which costs more than most methods do
 * (docs/performance.md). The responses equal those of Connect's handlers, byte for byte.
 */
export function createUnaryFastPath(
  pipelines: readonly Pipeline[],
  most: RpcLimits,
  parts: FastPathParts,
): UnaryFastPath {
  const byPath = new Map<string, ServedCall>(
    pipelines.map((pipeline) => {
      const { desc } = pipeline.method;
      const path = `/${desc.parent.typeName}/${desc.name}`;
      return [path, { pipeline, limits: methodLimits(desc, most), scope: readRateScope(desc) }];
    }),
  );
  return (request) => {
    if (request.method !== "POST") return undefined;
    const served = byPath.get(request.url ?? "");
    const wire = served && (chooseGrpcWire(request) ?? chooseConnectWire(request));
    if (!wire) return undefined;
    const { limits } = served;
    const asked = joinedHeader(request, wire.timeoutHeader);
    const askedMs = asked === undefined ? undefined : wire.timeoutOf(asked);
    // Connect's handlers refuse an invalid time.
    if (asked !== undefined && askedMs === undefined) return undefined;
    // A call that sets no deadline gets none from us, over any protocol: methods bound their own waits.
    const deadlineMs = askedMs === undefined ? undefined : Math.min(limits.maxDeadlineMs, askedMs);
    return (response) => {
      // Writing the response failed: its caller must not wait for it, nor may the process end.
      serve({ ...parts, ...served, wire, request, response, deadlineMs }).catch(() => response.destroy());
    };
  };
}

interface ServedCall {
  readonly pipeline: Pipeline;
  readonly limits: RpcLimits;
  readonly scope: RouteScope;
}

interface FastPathCall extends FastPathParts, ServedCall {
  readonly wire: UnaryWire;
  readonly request: IncomingMessage | StreamRequest;
  readonly response: WholeResponse;
  /** Milliseconds from now; undefined without a deadline. */
  readonly deadlineMs: number | undefined;
}

async function serve(call: FastPathCall): Promise<void> {
  const { pipeline, wire, request, response, deadlineMs } = call;
  const startedAt = performance.now();
  const callAbort = new CallAbort();
  const endAtDeadline = () => callAbort.end(new ConnectError("the operation timed out", Code.DeadlineExceeded));
  const deadline = deadlineMs === undefined ? undefined : setTimeout(endAtDeadline, deadlineMs);
  response.once("close", () => {
    clearTimeout(deadline);
    // `finished` does not tell: Node finishes HTTP/2 streams that a caller resets.
    if (!response.writableEnded) callAbort.end(aborted());
  });
  try {
    // The timer may fire late: it takes at least a millisecond, and a busy event loop delays it.
    const isOver = () => deadlineMs !== undefined && performance.now() - startedAt >= deadlineMs;
    const { message, headers } = await readAndRun(call, callAbort, () => {
      if (isOver()) endAtDeadline();
      if (callAbort.reason !== undefined) throw callAbort.reason;
    });
    for (const [name, value] of headers) response.setHeader(name, value);
    await wire.respond(response, pipeline.method.desc.output, message);
  } catch (error) {
    if (response.destroyed) return;
    const isAllRead = request.complete || (await dropUnreadBody(request));
    if (!isAllRead && request.httpVersionMajor === 1) response.setHeader("connection", "close");
    wire.refuse(response, error instanceof ConnectError ? error : internal(error));
  }
}

/** @throws {ConnectError} in the caller's form. */
async function readAndRun(
  { pipeline, wire, request, response, limits, scope, observe, visits, begin }: FastPathCall,
  callAbort: CallAbort,
  throwIfOver: () => void,
) {
  await begin(request, response, { template: request.url, scope });
  const traceId = requestTraceId(request);
  const { desc } = pipeline.method;
  const observation = observe({ rpc: desc.name, traceId, parent: parentSpanIn(request) });
  const tooMany = findRateRefusal(request);
  if (tooMany) throw recordFailure(tooMany, observation, traceId);
  const head = new CallHead(request, traceId, visits, callAbort);
  const admission = await admitCall(pipeline, head, observation);
  let message: Message;
  try {
    const body = await readBody(request, wire, limits, callAbort);
    message = await wire.read(desc.input, body, limits.messageBytes);
  } catch (error) {
    if (!(error instanceof ConnectError)) throw recordFailure(error, observation, traceId);
    observation.fail(error.code === Code.DeadlineExceeded ? 408 : 400, new Fault("malformed_body", "unread"));
    throw error;
  }
  return runCall(pipeline, { admission, observation }, message, throwIfOver);
}

/** @throws {Fault}; the reason that ended the call; {ConnectError} if the caller disconnected. */
async function readBody(
  request: IncomingMessage | StreamRequest,
  wire: UnaryWire,
  { messageBytes }: RpcLimits,
  callAbort: CallAbort,
): Promise<Buffer> {
  const maxBytes = wire.maxBodyBytes(messageBytes);
  const { stream, announced, hasArrived } = await readCallBody(request);
  try {
    return await collectBody(stream, requestMemory(request), { maxBytes, announced, hasArrived, end: callAbort });
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (callAbort.reason !== undefined) throw callAbort.reason;
    if (error instanceof BodyTooLarge) throw messageTooLarge(wire.maxMessageBytes(error.maxBytes), messageBytes);
    throw aborted();
  }
}

function aborted(): ConnectError {
  return new ConnectError("This operation was aborted", Code.Canceled);
}

function internal(error: unknown): ConnectError {
  return toConnectError(new Fault("internal", "Something went wrong on our side.", { cause: error }));
}
