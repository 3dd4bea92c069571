import type { DescMethod, DescMethodUnary, DescService, Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type MethodImpl,
} from "@connectrpc/connect";
import { Fault } from "../../base/fault.js";
import type { MethodAdmission } from "../admission/admission.js";
import { findRateRefusal } from "../admission/rate-gate.js";
import type { Visits } from "../browser/visits.js";
import { checkJsonBytes } from "../messages/json-text.js";
import { RECURSION_LIMIT } from "../messages/message-structure.js";
import { type Observe, toFault } from "../observation/observation.js";
import { parentSpanIn, requestTraceId } from "../observation/trace.js";
import type { Pipeline } from "../pipeline/pipeline.js";
import { CallHead } from "./call-head.js";
import { withTextForm } from "./grpc-web-text.js";
import { COMPRESSIONS } from "./inflation.js";
import { JSON_OPTIONS } from "./read-message.js";
import { methodLimits, type RpcCall, type RpcLimits, translateRpcErrors } from "./rpc-call.js";
import { toConnectError } from "./rpc-error.js";
import { readMessageJson } from "./rpc-json-faults.js";
import { admitCall, recordFailure, runCall } from "./rpc-method.js";
import { KEYLESS_RPC_LIMITS, type RpcOptions } from "./rpc-port.js";
import { STREAM_LIMITS, type StreamOptions, serveStreams } from "./rpc-stream.js";

const callKey = createContextKey<RpcCall | undefined>(undefined, { description: "the call" });

interface RpcParts {
  readonly limits: RpcLimits;
  readonly observe: Observe;
  readonly visits: Visits;
  /** Adds services that answer without a key: reflection and health. */
  others(router: ConnectRouter): void;
}

/** Serves every method over gRPC, gRPC-Web and Connect. The gate authenticates callers before their message is read. */
export function rpcOptions(
  services: readonly DescService[],
  pipelines: readonly Pipeline[],
  streams: StreamOptions,
  parts: RpcParts,
): RpcOptions {
  const { limits, observe, others } = parts;
  const byMethod = new Map<DescMethod, Pipeline>(pipelines.map((pipeline) => [pipeline.method.desc, pipeline]));
  const admissions = new Map<DescMethod, MethodAdmission>([
    ...byMethod,
    ...streams.pipelines.map((pipeline) => [pipeline.stream.desc, pipeline] as const),
  ]);
  return {
    readMaxBytes: limits.messageBytes,
    maxTimeoutMs: limits.maxDeadlineMs,
    acceptCompression: [...COMPRESSIONS],
    // Responses are not compressed, as in the fast path; a compressed refusal could not be read again and put into our
    // form.
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    binaryOptions: { recursionLimit: RECURSION_LIMIT, readUnknownFields: false },
    jsonOptions: jsonOptionsFor(checkJsonBytes),
    contextValues: (raw) => createContextValues().set(callKey, { raw, isRead: false }),
    requestGate: async (context) => {
      const refused = findRateRefusal(callOf(context).raw);
      if (refused) throw refuseAtOnce(refused, context, observe);
      const admission = admissions.get(context.method);
      if (admission) await gate(admission, context, parts);
    },
    routes(router) {
      for (const method of services.flatMap(({ methods }) => methods)) {
        if (isUnary(method)) serveUnary(router, method, byMethod.get(method), methodLimits(method, limits));
      }
      serveStreams(router, streams, callOf);
      for (const [index, handler] of router.handlers.entries()) {
        const own = isUnary(handler.method) ? methodLimits(handler.method, limits) : STREAM_LIMITS;
        router.handlers[index] = translateRpcErrors(handler, own, (values) => values?.get(callKey));
      }
      const ours = router.handlers.length;
      others(router);
      for (const [index, handler] of router.handlers.entries()) {
        if (index >= ours) router.handlers[index] = withTextForm(handler, KEYLESS_RPC_LIMITS.readMaxBytes);
      }
    },
  };
}

/** Connect passes every JSON message to `textDecoder` first, which checks it as strictly as REST does. */
function jsonOptionsFor(read: (bytes: Uint8Array) => string) {
  return {
    ...JSON_OPTIONS,
    textDecoder: {
      decode(bytes: Uint8Array): string {
        try {
          return read(bytes);
        } catch (error) {
          throw toConnectError(toFault(error));
        }
      },
    },
  };
}

/**
 * Also names every value of a wrong type. The message is read twice: this is not the path of ordinary calls.
 * @throws {Fault}
 */
function checkTypes({ input }: DescMethodUnary, bytes: Uint8Array): string {
  const text = checkJsonBytes(bytes);
  try {
    readMessageJson(input, text, bytes.length, JSON_OPTIONS);
  } catch (error) {
    if (error instanceof Fault) throw error;
  }
  return text;
}

async function gate(pipeline: MethodAdmission, context: HandlerContext, { observe, visits }: RpcParts): Promise<void> {
  const call = callOf(context);
  const traceId = requestTraceId(call.raw);
  call.observation = observe({ rpc: context.method.name, traceId, parent: parentSpanIn(call.raw) });
  const head = new CallHead(call.raw, traceId, visits, context);
  call.admission = await admitCall(pipeline, head, call.observation);
}

function refuseAtOnce(fault: Fault, context: HandlerContext, observe: Observe): ConnectError {
  const { raw } = callOf(context);
  const traceId = requestTraceId(raw);
  return recordFailure(fault, observe({ rpc: context.method.name, traceId, parent: parentSpanIn(raw) }), traceId);
}

function callOf(context: HandlerContext): RpcCall {
  const call = context.values.get(callKey);
  if (!call) throw new Error("a call bypassed the server's entry point");
  return call;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function serveUnary(
  router: ConnectRouter,
  method: DescMethodUnary,
  pipeline: Pipeline | undefined,
  { messageBytes }: RpcLimits,
): void {
  const implementation: MethodImpl<DescMethodUnary> = async (request: Message, context) => {
    const call = callOf(context);
    call.isRead = true;
    if (!pipeline) throw notServed(method, context);
    const { admission, observation } = call;
    if (!admission || !observation) throw new ConnectError("the request was not admitted", Code.Internal);
    // The timer may fire late: it takes at least a millisecond, and a busy event loop delays it.
    if ((context.timeoutMs() ?? 1) <= 0) {
      observation.cancel("deadline_exceeded");
      throw new ConnectError("the operation timed out", Code.DeadlineExceeded);
    }
    const throwIfOver = () => context.signal.throwIfAborted();
    const message = call.ahead?.message ?? request;
    const response = await runCall(pipeline, { admission, observation }, message, throwIfOver);
    for (const [name, value] of response.headers) context.responseHeader.set(name, value);
    return response.message;
  };
  const jsonOptions = jsonOptionsFor((bytes) => checkTypes(method, bytes));
  router.rpc(method, implementation, { readMaxBytes: messageBytes, jsonOptions });
}

function notServed(method: DescMethodUnary, context: HandlerContext): ConnectError {
  const fault = new Fault("method_not_allowed", `${method.name} is not served by this version.`);
  return toConnectError(fault, requestTraceId(callOf(context).raw));
}
