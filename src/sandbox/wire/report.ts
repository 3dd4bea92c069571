import type { Json, JsonObject } from "../../base/json.js";
import { MAX_NAMES, MAX_RESULT_VALUES } from "../../base/json-structure.js";
import { type GuestError, type PublishedErrorName, publishedErrors } from "../guest-error.js";
import { type CompileProblem, type ConsoleLine, failed, type RunFailure, type RunOutcome } from "../run.js";
import { list, MAX_LEVELS, object, oneOf, parseJson, record, StructureError, text, whole } from "./shape.js";

/** What the runner reports of a run, beside the value. */
export interface RunReport {
  readonly outcome: RunOutcome;
  /** An instance had to be started for it. */
  readonly cold: boolean;
  /** Milliseconds in the runner's queue. */
  readonly waitedMs: number;
  /** It could not be interrupted, and its thread was ended. */
  readonly threadEnded: boolean;
}

const failures: readonly RunFailure[] = [
  "timeout",
  "memory",
  "killed",
  "result_too_large",
  "args_too_large",
  "unsettled",
  "not_a_function",
  "does_not_compile",
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

/** Far above what the guest side sends: 64 KB of console by default, errors cut to 100 texts of 4,000 characters. */
const MOST_LINES = 100_000;
const MOST_CHARACTERS = 4_000_000;
const MOST_ENTRIES = 1_000;

/**
 * Reads a result frame: the report, and the value as JSON in bytes of its own.
 *
 * @param mostValues that the value may hold.
 * @throws ProtocolError where the runner sent anything but what it should.
 */
export function readReport(reportBytes: Buffer, valueBytes: Buffer, mostValues = MAX_RESULT_VALUES): RunReport {
  const report = object(parseJson(reportBytes));
  const readValue = () => parseJson(valueBytes, { depth: MAX_LEVELS, values: mostValues, names: MAX_NAMES });
  return {
    outcome: readOutcome(report, readValue),
    cold: report.cold === true,
    waitedMs: whole(report.waitedMs, 0, 3_600_000),
    threadEnded: report.threadEnded === true,
  };
}

/**
 * Reads the result frame of a compilation.
 *
 * @returns the problem, undefined where there is none, or "failed" where nothing was compiled.
 * @throws ProtocolError as readReport.
 */
export function readCompileReport(reportBytes: Buffer): CompileProblem | "failed" | undefined {
  const report = object(parseJson(reportBytes));
  if (oneOf(report.kind, ["compiled", "failed"]) === "failed") return "failed";
  return report.problem === undefined ? undefined : readProblem(report.problem);
}

function readOutcome(report: JsonObject, readValue: () => Json): RunOutcome {
  const console = list(report.console ?? [], MOST_LINES).map(readLine);
  switch (oneOf(report.kind, ["returned", "threw", "failed"])) {
    case "returned":
      return withValue(readValue, console, (value) => ({ kind: "returned", value, console }));
    case "threw": {
      const error = object(report.error);
      if (error.type !== "custom_http_response") return { kind: "threw", error: readGuestError(error, null), console };
      return withValue(readValue, console, (body) => ({ kind: "threw", error: readGuestError(error, body), console }));
    }
    case "failed": {
      const problem = report.problem === undefined ? {} : { problem: readProblem(report.problem) };
      return failed(oneOf(report.reason, failures), { ...problem, console });
    }
  }
}

/** The value is the guest's own text. Where it is no JSON the guest tampered with it: its run fails, and no other. */
function withValue(
  readValue: () => Json,
  console: readonly ConsoleLine[],
  give: (value: Json) => RunOutcome,
): RunOutcome {
  let value: Json;
  try {
    value = readValue();
  } catch (error) {
    if (error instanceof StructureError) return failed("result_too_large", { console });
    return failed("killed", { console, retryable: false });
  }
  return give(value);
}

function readLine(value: Json): ConsoleLine {
  const line = object(value);
  return { level: oneOf(line.level, levels), text: text(line.text, MOST_CHARACTERS) };
}

function readProblem(value: Json): CompileProblem {
  const problem = object(value);
  return {
    message: text(problem.message, 10_000),
    line: whole(problem.line, 1, 10_000_000),
    column: whole(problem.column, 1, 10_000_000),
  };
}

/**
 * @param body of a custom response, which travels apart from the rest.
 * @throws ProtocolError for anything but an error as the guest side describes it.
 */
export function readGuestError(error: JsonObject, body: Json): GuestError {
  switch (oneOf(error.type, ["published", "custom_http_response", "other"])) {
    case "published": {
      const name = oneOf(error.name, publishedNames);
      return { type: "published", name, ...publishedErrors[name], errors: readErrors(error.errors) };
    }
    case "custom_http_response":
      return {
        type: "custom_http_response",
        status: whole(error.status, 100, 599),
        headers: record(error.headers, MOST_ENTRIES, (value) => text(value, MOST_CHARACTERS)),
        body,
      };
    case "other":
      return { type: "other", ...publishedErrors.ReactorRuntimeError, errors: readErrors(error.errors) };
  }
}

function readErrors(value: Json | undefined): Record<string, string[]> {
  return record(value, MOST_ENTRIES, (texts) => list(texts, MOST_ENTRIES).map((entry) => text(entry, MOST_CHARACTERS)));
}
