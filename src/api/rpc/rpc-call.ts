import type { IncomingMessage } from "node:http";
import type { DescMethod } from "@bufbuild/protobuf";
import { ConnectError, type ContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { Fault } from "../../base/fault.js";
import { CompressedBodyMemory } from "../../memory/compressed-body-memory.js";
import { methodPolicy } from "../../services/method-policy.js";
import type { Admission } from "../admission/admission.js";
import { findRateRefusal } from "../admission/rate-gate.js";
import { dropUnreadBody } from "../connection/unread-body.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { PROBLEM_TYPE, problemDetails } from "../faults/problem.js";
import { type Observation, toFault } from "../observation/observation.js";
import { chooseTraceId } from "../observation/trace.js";
import { requestMemory } from "../request/open-memory.js";
import { type InflatingCall, inflatingFor } from "./inflation.js";
import { ReadAhead } from "./read-ahead.js";
import { type CallMemory, callMemory, checkedBody } from "./rpc-body.js";
import { shortenDeadline } from "./rpc-deadline.js";
import { toConnectError } from "./rpc-error.js";
import { once, readRefusal, refusalFault, refusalIn } from "./rpc-refusal.js";

export interface RpcLimits {
  readonly messageBytes: number;
  /** A longer deadline of a caller is lowered to this, in milliseconds. */
  readonly maxDeadlineMs: number;
}

/** The limits of one method: its own limit overrides the configured one. */
export function methodLimits(method: DescMethod, limits: RpcLimits): RpcLimits {
  return { ...limits, messageBytes: methodPolicy(method).bodyLimitBytes || limits.messageBytes };
}

export interface RpcCall {
  readonly raw: IncomingMessage;
  observation?: Observation;
  /** Set once the gate has admitted the call. */
  admission?: Admission;
  /** Why the message was not read. */
  refusal?: Fault;
  ahead?: ReadAhead;
  /** The message was read, and our handler has it. */
  isRead: boolean;
}

/**
 * Wraps a method's handler to put every refusal into our form, including those of unreadable messages, other HTTP
 * methods and other content types.
 */
export function translateRpcErrors(
  handler: UniversalHandler,
  limits: RpcLimits,
  callOf: (values: ContextValues | undefined) => RpcCall | undefined,
): UniversalHandler {
  const handle = async (request: UniversalServerRequest): Promise<UniversalServerResponse> => {
    const call = callOf(request.contextValues);
    if (!call) throw new Error("a call bypassed the server's entry point");
    shortenDeadline(request.header, limits.maxDeadlineMs);
    const { raw } = call;
    const response = await handledCall(handler, request, call, limits);
    if ((await dropUnreadBody(raw)) || raw.httpVersionMajor !== 1) return response;
    const header = new Headers(response.header);
    header.set("connection", "close");
    return { ...response, header };
  };
  return Object.assign(handle, handler);
}

async function handledCall(
  handler: UniversalHandler,
  request: UniversalServerRequest,
  call: RpcCall,
  limits: RpcLimits,
): Promise<UniversalServerResponse> {
  const memory = callMemory(call.raw, requestMemory(call.raw), limits.messageBytes);
  const isJson = /json/i.test(call.raw.headers["content-type"] ?? "");
  const ahead = new ReadAhead(handler.method.input, isJson, limits.messageBytes);
  call.ahead = ahead;
  // Connect compares it with what it reads, which may be an empty message in place of a large one.
  request.header.delete("content-length");
  const body = withRefusals(call, checkedBody(call.raw, request, { messageBytes: limits.messageBytes, memory, ahead }));
  try {
    const inflating = inflatingCall(call, memory, ahead);
    const response = await inflatingFor(inflating, () => handler({ ...request, body }));
    // Negotiated but unused: responses are never compressed.
    response.header?.delete("grpc-encoding");
    return await inOurWords(response, request, call, limits);
  } catch (error) {
    // The framework would answer an error thrown here with an empty 200: a success, in some protocols.
    const fault = toFault(error);
    call.observation?.fail(FAULT_TABLE[fault.code].http, fault);
    const { header } = request;
    return refusalIn(
      header.get("content-type") ?? "",
      toConnectError(fault, chooseTraceId(header.get("bt-trace-id") ?? undefined)),
    );
  }
}

/** Connect keeps errors of its own class, and reports all others as internal. */
async function* withRefusals(call: RpcCall, body: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw refusedWith(call, error);
  }
}

function inflatingCall(call: RpcCall, memory: CallMemory, ahead: ReadAhead): InflatingCall {
  const inflated = memory instanceof CompressedBodyMemory ? memory : undefined;
  return {
    async reserve(bytes) {
      try {
        await inflated?.reserveInflated(bytes);
      } catch (error) {
        throw refusedWith(call, error);
      }
    },
    end: (bytes) => inflated?.endInflation(bytes),
    async read(message) {
      try {
        return (await ahead.read(message)) ?? message;
      } catch (error) {
        throw refusedWith(call, error);
      }
    },
  };
}

function refusedWith(call: RpcCall, error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const fault = toFault(error);
  call.refusal = fault;
  return toConnectError(fault);
}

async function inOurWords(
  response: UniversalServerResponse,
  { header }: UniversalServerRequest,
  { raw, observation, admission, refusal: earlier, isRead }: RpcCall,
  { messageBytes }: RpcLimits,
): Promise<UniversalServerResponse> {
  const traceId = chooseTraceId(header.get("bt-trace-id") ?? undefined);
  if (response.status === 405 || response.status === 415) {
    const refused = findRateRefusal(raw);
    if (refused) return problem(refused, traceId, { "retry-after": String(refused.retryAfter ?? 1) });
  }
  if (response.status === 405) {
    return problem(new Fault("method_not_allowed", "This path takes POST."), traceId, { allow: "POST" });
  }
  if (response.status === 415) {
    return problem(new Fault("unsupported_media_type", "Send this call as gRPC, gRPC-Web or Connect."), traceId);
  }
  if (!admission || isRead) return response;
  const refusal = await readRefusal(response);
  const fault = earlier ?? refusalFault(refusal.error, messageBytes);
  const seen = fault ?? new Fault("unsupported_media_type", "The call uses an unsupported encoding.");
  observation?.fail(FAULT_TABLE[seen.code].http, seen);
  return refusal.rewrite(fault ? toConnectError(fault, traceId) : refusal.error);
}

function problem(fault: Fault, traceId: string, headers: Record<string, string> = {}): UniversalServerResponse {
  const body = Buffer.from(JSON.stringify(problemDetails(fault, traceId)));
  return {
    status: FAULT_TABLE[fault.code].http,
    header: new Headers({ "content-type": PROBLEM_TYPE, ...headers }),
    body: once(body),
  };
}
