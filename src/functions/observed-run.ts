import type { FunctionKind } from "../sandbox/limits.js";
import type { ConsoleLine, RunOutcome, RunUsage } from "../sandbox/run.js";
import { FunctionFailed } from "./function-failed.js";
import { functionResult } from "./function-runner.js";

export interface ObservedRun {
  readonly kind: FunctionKind;
  /** Undefined if the code returned or answered, and if it could not run now. */
  readonly failure: FunctionFailed | undefined;
  readonly console: readonly ConsoleLine[];
  readonly usage: RunUsage | undefined;
}

export function observedRun(kind: FunctionKind, outcome: RunOutcome): ObservedRun {
  const { console, usage } = outcome;
  return { kind, failure: failureOf(outcome), console, usage };
}

function failureOf(outcome: RunOutcome): FunctionFailed | undefined {
  try {
    functionResult(outcome);
    return undefined;
  } catch (error) {
    return error instanceof FunctionFailed ? withPosition(error, outcome) : undefined;
  }
}

/** Adds the position of a published error, which only authors see. */
function withPosition(failed: FunctionFailed, outcome: RunOutcome): FunctionFailed {
  if (outcome.kind !== "threw" || outcome.error.type === "custom_http_response") return failed;
  return new FunctionFailed(failed.status, failed.detail, failed.errors, outcome.error.position);
}
