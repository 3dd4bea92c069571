import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  defaultResource,
  detectResources,
  hostDetector,
  osDetector,
  processDetector,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type Sampler,
  SimpleSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { TraceSettings } from "./trace-settings.js";

export const propagator = new W3CTraceContextPropagator();

/** Makes spans and sends them. There are no instrumentations: they put URLs and statements into spans. */
export async function openTracerProvider(settings: TraceSettings): Promise<TracerProvider> {
  const detectors = [
    serviceInstanceIdDetector,
    processDetector,
    hostDetector,
    osDetector,
    resourceAttributesEnvDetector,
  ];
  const resource = defaultResource()
    .merge(detectResources({ detectors }))
    .merge(resourceFromAttributes({ "service.name": settings.serviceName }));
  return new TracerProvider({
    resource,
    sampler: samplerOf(settings),
    spanProcessors: [await processorOf(settings)],
  });
}

async function processorOf(settings: TraceSettings): Promise<SpanProcessor> {
  if (settings.exporter === "console") return new SimpleSpanProcessor({ exporter: new ConsoleSpanExporter() });
  return new BatchSpanProcessor({ ...settings.batches, exporter: await exporterOf(settings.protocol) });
}

async function exporterOf(protocol: TraceSettings["protocol"]): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter();
}

function samplerOf({ sampler, ratio }: TraceSettings): Sampler {
  const root = sampler.endsWith("ratio")
    ? new TraceIdRatioBasedSampler(ratio)
    : sampler.endsWith("off")
      ? new AlwaysOffSampler()
      : new AlwaysOnSampler();
  return sampler.startsWith("parentbased") ? new ParentBasedSampler({ root }) : root;
}
