/** The samplers of OpenTelemetry's specification. The first is its default. */
export const SAMPLERS = [
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
  "always_on",
  "always_off",
  "traceidratio",
] as const;

export interface TraceSettings {
  readonly exporter: "otlp" | "console";
  readonly protocol: "http/protobuf" | "http/json";
  readonly sampler: (typeof SAMPLERS)[number];
  /** The share of traces that are sent, for the two samplers that end in "ratio". */
  readonly ratio: number;
  readonly serviceName: string;
  /** How spans are gathered before they are sent. Absent values are the SDK's. */
  readonly batches: {
    readonly maxQueueSize?: number;
    readonly maxExportBatchSize?: number;
    readonly scheduledDelayMillis?: number;
    readonly exportTimeoutMillis?: number;
  };
}
