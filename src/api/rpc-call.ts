import type { IncomingMessage } from "node:http";
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { policy } from "../../gen/cloakroom/v1/options_pb.js";
import { Fault } from "../base/fault.js";
import { bodyRoom } from "./body-room.js";
import { FAULT_TABLE } from "./fault-table.js";
import { inflatingInto, type TakeRoom } from "./inflation.js";
import { type Observation, toFault } from "./observation.js";
import type { Admission } from "./pipeline.js";
import { rateRefusalOf } from "./rate-gate.js";
import { PROBLEM_TYPE, problemOf } from "./rest/problem.js";
import { shortenDeadline } from "./rpc-deadline.js";
import { connectErrorOf } from "./rpc-error.js";
import { faultOf, readRefusal, refusalIn } from "./rpc-refusal.js";
import { traceIdOf } from "./trace.js";
import { dropUnreadBody } from "./unread-body.js";

export interface RpcLimits {
  readonly messageBytes: number;
  readonly timeoutMs: number;
}

/** What holds for the calls of one method: its own limit goes before the one that is configured. */
export function limitsOf(method: DescMethod, limits: RpcLimits): RpcLimits {
  return { ...limits, messageBytes: getOption(method, policy).bodyLimitBytes || limits.messageBytes };
}

/** One call of a method, from its HTTP request to our handler. */
export interface RpcCall {
  readonly raw: IncomingMessage;
  observation?: Observation;
  /** The gate has let it pass. */
  admission?: Admission;
  /** Its message has been read, and our handler has it. */
  isRead: boolean;
}

function roomOf(raw: IncomingMessage): TakeRoom {
  return (bytes) => {
    try {
      bodyRoom.take(raw, bytes);
    } catch (error) {
      throw connectErrorOf(toFault(error));
    }
  };
}

async function* counted(raw: IncomingMessage, take: TakeRoom): AsyncGenerator<Uint8Array> {
  const chunks: AsyncIterable<Uint8Array> = raw.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    take(chunk.length);
    yield chunk;
  }
  // A stream of HTTP/2 that its caller resets, or whose connection breaks, ends like one that is complete.
  if (raw.aborted) throw new ConnectError("This operation was aborted", Code.Canceled);
}

/**
 * A method's handler whose every refusal looks like ours: also of messages that Connect cannot read, of other HTTP
 * methods and of other content types.
 */
export function withOurRefusals(
  handler: UniversalHandler,
  limits: RpcLimits,
  callOf: (values: ContextValues | undefined) => RpcCall | undefined,
): UniversalHandler {
  const handle = async (request: UniversalServerRequest): Promise<UniversalServerResponse> => {
    const call = callOf(request.contextValues);
    if (!call) throw new Error("a call came in by another way than the server's");
    shortenDeadline(request.header, limits.timeoutMs);
    const { raw } = call;
    const response = await answerOf(handler, request, call, limits);
    if ((await dropUnreadBody(raw)) || raw.httpVersionMajor !== 1) return response;
    const header = new Headers(response.header);
    header.set("connection", "close");
    return { ...response, header };
  };
  return Object.assign(handle, handler);
}

async function answerOf(
  handler: UniversalHandler,
  request: UniversalServerRequest,
  call: RpcCall,
  limits: RpcLimits,
): Promise<UniversalServerResponse> {
  const take = roomOf(call.raw);
  // Connect stops reading at the first refusal. Destroyed then, the request would take its connection or stream along.
  const body = counted(call.raw, take);
  try {
    const response = await inflatingInto(take, () => handler({ ...request, body }));
    // Agreed on, and not made use of: answers are never compressed.
    response.header?.delete("grpc-encoding");
    return await inOurWords(response, request, call, limits);
  } catch (error) {
    // The framework would answer what is thrown here with an empty 200: a success, in some protocols.
    const fault = toFault(error);
    call.observation?.fail(FAULT_TABLE[fault.code].http, fault);
    const { header } = request;
    return refusalIn(
      header.get("content-type") ?? "",
      connectErrorOf(fault, traceIdOf(header.get("bt-trace-id") ?? undefined)),
    );
  }
}

async function inOurWords(
  response: UniversalServerResponse,
  { header }: UniversalServerRequest,
  { raw, observation, admission, isRead }: RpcCall,
  { messageBytes }: RpcLimits,
): Promise<UniversalServerResponse> {
  const traceId = traceIdOf(header.get("bt-trace-id") ?? undefined);
  if (response.status === 405 || response.status === 415) {
    const refused = rateRefusalOf(raw);
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
  const fault = faultOf(refusal.error, messageBytes);
  const seen = fault ?? new Fault("unsupported_media_type", "The call was encoded in a way that is not served.");
  observation?.fail(FAULT_TABLE[seen.code].http, seen);
  return refusal.rewrite(fault ? connectErrorOf(fault, traceId) : refusal.error);
}

function problem(fault: Fault, traceId: string, headers: Record<string, string> = {}): UniversalServerResponse {
  const body = Buffer.from(JSON.stringify(problemOf(fault, traceId)));
  return {
    status: FAULT_TABLE[fault.code].http,
    header: new Headers({ "content-type": PROBLEM_TYPE, ...headers }),
    body: (async function* () {
      yield body;
    })(),
  };
}
