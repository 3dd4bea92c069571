import type { Json, JsonObject } from "../../base/json.js";
import { MAX_NAMES, MAX_RESULT_VALUES } from "../../base/json-structure.js";
import { type GuestError, type PublishedErrorName, publishedErrors } from "../guest-error.js";
import {
  type CompileProblem,
  type ConsoleLine,
  failed,
  type RunFailure,
  type RunOutcome,
  type RunUsage,
} from "../run.js";
import type { SourcePosition } from "../source-position.js";
import { list, MAX_LEVELS, object, oneOf, parseWireJson, record, StructureError, text, whole } from "./shape.js";

/** The runner's report of a run, beside the value. */
export interface RunReport {
  readonly outcome: RunOutcome;
  /** The run had to start an instance. */
  readonly cold: boolean;
  /** Milliseconds in the runner's queue. */
  readonly waitedMs: number;
  /** It could not be interrupted, and its thread was ended. */
  readonly threadEnded: boolean;
}

export type CompileReport =
  | { readonly kind: "compiled"; readonly problem: CompileProblem | undefined }
  /** It took too long, and its thread was ended. */
  | { readonly kind: "overran" }
  /** There was no room for it. */
  | { readonly kind: "failed" };

const failures: readonly RunFailure[] = [
  "timeout",
  "memory",
  "killed",
  "result_too_large",
  "args_too_large",
  "unsettled",
  "not_a_function",
  "does_not_compile",
  "held",
  "overloaded",
  "runner_restarted",
];
const levels: readonly ConsoleLine["level"][] = ["debug", "log", "info", "warn", "error"];
const publishedNames: readonly PublishedErrorName[] = [
  "AuthenticationError",
  "AuthorizationError",
  "BadRequestError",
  "InvalidPaymentMethodError",
  "InvalidReactorConfigurationError",
  "RateLimitError",
  "ReactorRuntimeError",
  "ServiceUnavailableError",
];

/** Far above the guest's own limits: 64 KB of console by default, errors cut to 100 texts of 4,000 characters. */
const MAX_LINES = 100_000;
const MAX_CHARACTERS = 4_000_000;
const MAX_ENTRIES = 1_000;

/**
 * Reads a result frame: the report, and the value as JSON in bytes of its own.
 * @param maxValues limit of values in it.
 * @throws ProtocolError for an invalid report.
 */
export function readReport(reportBytes: Buffer, valueBytes: Buffer, maxValues = MAX_RESULT_VALUES): RunReport {
  const report = object(parseWireJson(reportBytes));
  const readValue = () => parseWireJson(valueBytes, { depth: MAX_LEVELS, values: maxValues, names: MAX_NAMES });
  return {
    outcome: readOutcome(report, readValue),
    cold: report.cold === true,
    waitedMs: whole(report.waitedMs, 0, 3_600_000),
    threadEnded: report.threadEnded === true,
  };
}

/** @throws ProtocolError as readReport. */
export function readCompileReport(reportBytes: Buffer): CompileReport {
  const report = object(parseWireJson(reportBytes));
  if (oneOf(report.kind, ["compiled", "failed"]) === "failed") {
    return report.threadEnded === true ? { kind: "overran" } : { kind: "failed" };
  }
  return { kind: "compiled", problem: report.problem === undefined ? undefined : readProblem(report.problem) };
}

function readOutcome(report: JsonObject, readValue: () => Json): RunOutcome {
  const console = list(report.console ?? [], MAX_LINES).map(readLine);
  const usage = report.usage === undefined ? undefined : readUsage(object(report.usage));
  const run = { console, usage };
  switch (oneOf(report.kind, ["returned", "threw", "failed"])) {
    case "returned":
      return withValue(readValue, run, (value) => ({ kind: "returned", value, ...run }));
    case "threw": {
      const error = object(report.error);
      if (error.type !== "custom_http_response") return { kind: "threw", error: readGuestError(error, null), ...run };
      return withValue(readValue, run, (body) => ({ kind: "threw", error: readGuestError(error, body), ...run }));
    }
    case "failed": {
      const problem = report.problem === undefined ? {} : { problem: readProblem(report.problem) };
      return failed(oneOf(report.reason, failures), { ...problem, ...run });
    }
  }
}

/** The guest wrote the value. If it is not JSON, code tampered with the guest: only its own run fails. */
function withValue(
  readValue: () => Json,
  run: Pick<RunOutcome, "console" | "usage">,
  give: (value: Json) => RunOutcome,
): RunOutcome {
  let value: Json;
  try {
    value = readValue();
  } catch (error) {
    if (error instanceof StructureError) return failed("result_too_large", run);
    return failed("killed", { ...run, retryable: false });
  }
  return give(value);
}

function readUsage({ ms, memoryBytes }: JsonObject): RunUsage {
  return { ms: whole(ms, 0, 3_600_000), memoryBytes: whole(memoryBytes, 0, 2 ** 40) };
}

function readLine(value: Json): ConsoleLine {
  const line = object(value);
  return { level: oneOf(line.level, levels), text: text(line.text, MAX_CHARACTERS) };
}

function readProblem(value: Json): CompileProblem {
  const problem = object(value);
  return { message: text(problem.message, 10_000), ...lineAndColumn(problem) };
}

function readPosition(value: Json | undefined): SourcePosition | undefined {
  return value === undefined ? undefined : lineAndColumn(object(value));
}

function lineAndColumn({ line, column }: JsonObject): SourcePosition {
  return { line: whole(line, 1, 10_000_000), column: whole(column, 1, 10_000_000) };
}

/**
 * @param body of a custom response, which is sent separately.
 * @throws ProtocolError unless it has the form of the guest's errors.
 */
export function readGuestError(error: JsonObject, body: Json): GuestError {
  switch (oneOf(error.type, ["published", "custom_http_response", "other"])) {
    case "published": {
      const name = oneOf(error.name, publishedNames);
      const errors = readErrors(error.errors);
      return { type: "published", name, ...publishedErrors[name], errors, position: readPosition(error.position) };
    }
    case "custom_http_response":
      return {
        type: "custom_http_response",
        status: whole(error.status, 100, 599),
        headers: record(error.headers, MAX_ENTRIES, (value) => text(value, MAX_CHARACTERS)),
        body,
      };
    case "other":
      return {
        type: "other",
        ...publishedErrors.ReactorRuntimeError,
        errors: readErrors(error.errors),
        position: readPosition(error.position),
      };
  }
}

function readErrors(value: Json | undefined): Record<string, string[]> {
  return record(value, MAX_ENTRIES, (texts) => list(texts, MAX_ENTRIES).map((entry) => text(entry, MAX_CHARACTERS)));
}
