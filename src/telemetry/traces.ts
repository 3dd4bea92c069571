import { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { EndedOperation } from "./ended-operation.js";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts to send traces if the standard variables ask for it (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER, and
 * others that the OpenTelemetry SDK reads). The SDK is loaded only then.
 */
export async function startTraces(environment: Environment): Promise<AsyncDisposable> {
  const exporter = environment.OTEL_TRACES_EXPORTER;
  const endpoint = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isAsked = exporter !== "none" && (exporter ?? endpoint ?? "") !== "";
  if (!isAsked || environment.OTEL_SDK_DISABLED === "true") return { [Symbol.asyncDispose]: async () => {} };
  const { NodeSDK } = await import("@opentelemetry/sdk-node");
  // No instrumentations: they put URLs and statements into spans.
  const sdk = new NodeSDK({ serviceName: environment.OTEL_SERVICE_NAME ?? "cloakroom", instrumentations: [] });
  sdk.start();
  // An unreachable collector must not keep the server from stopping.
  return { [Symbol.asyncDispose]: () => sdk.shutdown().catch(() => {}) };
}

/**
 * Records a span for a finished operation: its name, route template, outcome and duration, and none of its data. Its
 * parent is the caller's span if the request names a valid one.
 */
export function traceOperation({ rpc, route, code, seconds, parent }: EndedOperation): void {
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
