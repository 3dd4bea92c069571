import type { DescMethodServerStreaming, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { Fault } from "../../base/fault.js";
import type { StreamPipeline } from "../pipeline/stream-pipeline.js";
import type { RpcCall, RpcLimits } from "./rpc-call.js";
import { toConnectError } from "./rpc-error.js";
import { recordFailure } from "./rpc-method.js";
import { StreamLimiter } from "./stream-limiter.js";

/** A stream lives 10 to 15 minutes, spread: otherwise all callers of a server return at once. */
const MIN_LIFE_MS = 600_000;
const LIFE_SPREAD_MS = 300_000;
/** A caller that takes no message for this long is gone or stuck. */
const WRITE_TIMEOUT_MS = 60_000;
/** A request is a filter and a cursor. No stream outlives the deadline. */
export const STREAM_LIMITS: RpcLimits = { messageBytes: 16_384, maxDeadlineMs: MIN_LIFE_MS + LIFE_SPREAD_MS };

export interface StreamOptions {
  readonly pipelines: readonly StreamPipeline[];
  /** Aborted when the server begins to stop. */
  readonly draining: AbortSignal;
}

export function serveStreams(
  router: ConnectRouter,
  { pipelines, draining }: StreamOptions,
  callOf: (context: HandlerContext) => RpcCall,
): void {
  const limiter = new StreamLimiter();
  for (const pipeline of pipelines) {
    const method: DescMethodServerStreaming = pipeline.stream.desc;
    const messages = (request: Message, context: HandlerContext) => {
      const call = callOf(context);
      call.isRead = true;
      return messagesOf(pipeline, call.ahead?.message ?? request, context, { call, limiter, draining });
    };
    const { messageBytes, maxDeadlineMs } = STREAM_LIMITS;
    router.rpc(method, messages, { readMaxBytes: messageBytes, maxTimeoutMs: maxDeadlineMs });
  }
}

interface StreamParts {
  readonly call: RpcCall;
  readonly limiter: StreamLimiter;
  readonly draining: AbortSignal;
}

/** The messages of one stream. It ends with an error in the caller's form, or when the caller leaves. */
async function* messagesOf(
  pipeline: StreamPipeline,
  request: Message,
  context: HandlerContext,
  { call: { admission, observation, raw }, limiter, draining }: StreamParts,
): AsyncGenerator<Message> {
  if (!admission?.caller || !observation) throw new ConnectError("the request was not admitted", Code.Internal);
  const { traceId } = admission.head;
  let free = () => {};
  // A caller that left is not always seen by the loop below: it may wait for a message to be written.
  const leave = () => {
    free();
    observation.cancel("canceled");
  };
  try {
    free = await limiter.take(admission.caller);
    context.signal.addEventListener("abort", leave, { once: true });
    if (context.signal.aborted) leave();
    const life = AbortSignal.timeout(MIN_LIFE_MS + Math.round(Math.random() * LIFE_SPREAD_MS));
    const end = AbortSignal.any([context.signal, draining, life]);
    for await (const message of pipeline.open(admission, request, end)) {
      const stuck = setTimeout(() => raw.destroy(), WRITE_TIMEOUT_MS);
      try {
        yield message;
      } finally {
        clearTimeout(stuck);
      }
    }
    context.signal.throwIfAborted();
    observation.end(200);
    if (!end.aborted) return;
    throw toConnectError(new Fault("unavailable", "The stream has ended. Continue with its last cursor."), traceId);
  } catch (error) {
    if (error instanceof ConnectError || context.signal.aborted) throw error;
    throw recordFailure(error, observation, traceId);
  } finally {
    context.signal.removeEventListener("abort", leave);
    free();
  }
}
