import { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { EndedOperation } from "./ended-operation.js";
import type { TraceSettings } from "./trace-settings.js";

/** Whether spans are made at all: each takes memory, also where no collector gets it. */
let areSent = false;

/** Starts to send traces. The SDK is loaded only if there are settings for it. */
export async function startTraces(settings: TraceSettings | undefined): Promise<AsyncDisposable> {
  if (!settings) return { [Symbol.asyncDispose]: async () => {} };
  const { openTracerProvider, propagator } = await import("./tracer-provider.js");
  const provider = await openTracerProvider(settings);
  propagation.setGlobalPropagator(propagator);
  trace.setGlobalTracerProvider(provider);
  areSent = true;
  // An unreachable collector must not keep the server from stopping.
  return { [Symbol.asyncDispose]: () => provider.shutdown().catch(() => {}) };
}

/**
 * Records a span for a finished operation: its name, route template, outcome and duration, and none of its data. Its
 * parent is the caller's span if the request names a valid one.
 */
export function traceOperation({ rpc, route, code, seconds, parent }: EndedOperation): void {
  if (!areSent) return;
  const end = Date.now();
  const span = trace.getTracer("cloakroom").startSpan(
    rpc,
    {
      kind: SpanKind.SERVER,
      startTime: end - seconds * 1_000,
      attributes: {
        "rpc.method": rpc,
        ...(route === undefined ? {} : { "http.route": route }),
        "cloakroom.code": code,
      },
    },
    propagation.extract(ROOT_CONTEXT, parent ?? {}),
  );
  if (code === "internal" || code === "unavailable") span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(end);
}
