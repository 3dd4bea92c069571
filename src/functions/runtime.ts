import { invalid } from "../base/fault.js";
import { isEmptyJson, isJsonObject, type Json, type JsonObject } from "../base/json.js";

/**
 * The requested runtime, in the interface's names. Holds only supported options: one image, one size, and a shorter
 * time limit.
 */
export interface Runtime {
  readonly image?: typeof IMAGE;
  /** Seconds. */
  readonly timeout?: number;
  readonly warm_concurrency?: number;
  readonly resources?: typeof RESOURCES;
}

const IMAGE = "node-bt";
const RESOURCES = "standard";

/** Limit of synchronous runs, in seconds (docs/code.md, Limits). */
const MAX_SECONDS = 30;

/**
 * Clients send empty strings, zeros and empty lists for options that they do not set.
 * @throws {Fault} validation_failed naming the first field with an unsupported option.
 */
export function parseRuntime(given: Json, field: string): Runtime {
  if (!isJsonObject(given)) throw invalid(field, "must be an object");
  const { image, timeout, warm_concurrency: warm, resources } = given;
  requireServed(given, field);
  return {
    ...(isLeftOpen(image) ? {} : { image: IMAGE }),
    ...(isLeftOpen(timeout) ? {} : { timeout: secondsOf(timeout, `${field}.timeout`) }),
    ...(warm === undefined || warm === null ? {} : { warm_concurrency: warmOf(warm, `${field}.warm_concurrency`) }),
    ...(isLeftOpen(resources) ? {} : { resources: RESOURCES }),
  };
}

/** Time limit of a run in milliseconds; undefined for the default. */
export function runTimeoutMs(runtime: Runtime | undefined): number | undefined {
  return runtime?.timeout === undefined ? undefined : runtime.timeout * 1_000;
}

function requireServed(given: JsonObject, field: string): void {
  if (!isLeftOpen(given.image) && given.image !== IMAGE) {
    throw invalid(`${field}.image`, `must be ${IMAGE}: code runs in one environment, and other images are not served`);
  }
  if (!isLeftOpen(given.resources) && given.resources !== RESOURCES) {
    throw invalid(`${field}.resources`, `must be ${RESOURCES}`);
  }
  if (!isLeftOpen(given.async)) {
    throw invalid(
      `${field}.async`,
      "must be false: call the reactor with react-async; it may take 30 seconds as always",
    );
  }
  for (const name of ["dependencies", "resolutions"]) {
    if (!isEmptyJson(given[name])) throw invalid(`${field}.${name}`, "must be empty: packages are not installed");
  }
  if (!isEmptyJson(given.permissions)) {
    throw invalid(`${field}.permissions`, "must be empty: name an application, whose permissions the code then has");
  }
}

function secondsOf(timeout: Json | undefined, field: string): number {
  if (typeof timeout === "number" && Number.isInteger(timeout) && timeout >= 1 && timeout <= MAX_SECONDS)
    return timeout;
  throw invalid(field, `must be a whole number of seconds from 1 to ${MAX_SECONDS}`);
}

function warmOf(warm: Json, field: string): number {
  if (warm === 0 || warm === 1) return warm;
  throw invalid(field, "must be 0 or 1");
}

function isLeftOpen(value: Json | undefined): boolean {
  return value === 0 || isEmptyJson(value);
}
