import { describe, expect, it } from "vitest";
import { readTraces } from "../../src/settings/traces.js";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

describe("the standard variables of traces", () => {
  it.each([
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: "" },
    { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" },
    { ...ENDPOINT, OTEL_SDK_DISABLED: "true" },
  ])("ask for none: %j", (environment) => {
    expect(readTraces(environment)).toBeUndefined();
  });

  it.each([
    [ENDPOINT, { exporter: "otlp", protocol: "http/protobuf", sampler: "parentbased_always_on", ratio: 1 }],
    [{ OTEL_TRACES_EXPORTER: "console" }, { exporter: "console", serviceName: "cloakroom" }],
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" }, { protocol: "http/json" }],
    [
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/protobuf" },
      { protocol: "http/protobuf" },
    ],
    [
      { ...ENDPOINT, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
      { sampler: "traceidratio", ratio: 0.25 },
    ],
    [{ ...ENDPOINT, OTEL_SERVICE_NAME: "vault" }, { serviceName: "vault" }],
    [{ ...ENDPOINT, OTEL_BSP_SCHEDULE_DELAY: "100" }, { batches: { scheduledDelayMillis: 100 } }],
  ])("%j are read", (environment, expected) => {
    expect(readTraces(environment)).toMatchObject(expected);
  });

  it.each([
    [{ OTEL_TRACES_EXPORTER: "zipkin" }, 'OTEL_TRACES_EXPORTER must be one of otlp, console; it is "zipkin".'],
    [
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      'OTEL_EXPORTER_OTLP_PROTOCOL must be one of http/protobuf, http/json; it is "grpc".',
    ],
    [{ ...ENDPOINT, OTEL_TRACES_SAMPLER: "some" }, /^OTEL_TRACES_SAMPLER must be one of parentbased_always_on, /],
    [{ ...ENDPOINT, OTEL_TRACES_SAMPLER_ARG: "2" }, "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"],
    [{ ...ENDPOINT, OTEL_BSP_SCHEDULE_DELAY: "soon" }, "OTEL_BSP_SCHEDULE_DELAY must be a whole number from 1"],
  ])("%j stop the start", (environment, message) => {
    expect(() => readTraces(environment)).toThrow(message);
  });
});
