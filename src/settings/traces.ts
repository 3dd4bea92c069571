import { SAMPLERS, type TraceSettings } from "../telemetry/trace-settings.js";
import { ConfigError } from "./config-error.js";
import type { Environment } from "./setting-values.js";

/** The SDK's options for how spans are gathered before they are sent, by their variables. */
const BATCHES: Readonly<Record<string, keyof TraceSettings["batches"]>> = {
  OTEL_BSP_MAX_QUEUE_SIZE: "maxQueueSize",
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "maxExportBatchSize",
  OTEL_BSP_SCHEDULE_DELAY: "scheduledDelayMillis",
  OTEL_BSP_EXPORT_TIMEOUT: "exportTimeoutMillis",
};

/**
 * The standard variables of OpenTelemetry that say whether and how traces are sent. The exporter itself reads its
 * address, headers, time limit and certificates (OTEL_EXPORTER_OTLP_*).
 * @returns undefined if they do not ask for traces.
 * @throws {ConfigError} for a value that asks for what is not part of this program.
 */
export function readTraces(environment: Environment): TraceSettings | undefined {
  const exporter = environment.OTEL_TRACES_EXPORTER || undefined;
  const endpoint = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (exporter === "none" || !(exporter ?? endpoint) || environment.OTEL_SDK_DISABLED === "true") return undefined;
  const ofTraces = environment.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ? "TRACES_PROTOCOL" : "PROTOCOL";
  return {
    exporter: oneOf(environment, "OTEL_TRACES_EXPORTER", ["otlp", "console"]),
    protocol: oneOf(environment, `OTEL_EXPORTER_OTLP_${ofTraces}`, ["http/protobuf", "http/json"]),
    sampler: oneOf(environment, "OTEL_TRACES_SAMPLER", SAMPLERS),
    ratio: readRatio(environment.OTEL_TRACES_SAMPLER_ARG),
    serviceName: environment.OTEL_SERVICE_NAME || "cloakroom",
    batches: Object.fromEntries(
      Object.entries(BATCHES)
        .filter(([name]) => environment[name])
        .map(([name, option]) => [option, readCount(environment, name)]),
    ),
  };
}

/** One of the known values; the first of them if the variable is not set. */
function oneOf<const T extends string>(environment: Environment, name: string, known: readonly [T, ...T[]]): T {
  const value = environment[name]?.trim() || known[0];
  const found = known.find((word) => word === value);
  if (found === undefined) throw new ConfigError(`${name} must be one of ${known.join(", ")}; it is "${value}".`);
  return found;
}

function readRatio(value: string | undefined): number {
  const ratio = Number(value || "1");
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new ConfigError(`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; it is "${value}".`);
}

function readCount(environment: Environment, name: string): number {
  const value = environment[name] ?? "";
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new ConfigError(`${name} must be a whole number from 1; it is "${value}".`);
}
