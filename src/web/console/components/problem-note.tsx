import { useEffect, useState } from "react";
import type { CallProblem } from "../api/call-problem.js";
import { SecondFactor } from "../passkeys/second-factor.js";

/** What a retry does not change. */
const FINAL: ReadonlySet<CallProblem["kind"]> = new Set(["denied", "invalid", "not_found"]);

interface ProblemNoteProps {
  readonly problem: CallProblem;
  /** Whether the form says beside a field what is wrong with it. The note then leaves it out. */
  readonly isShown?: (field: string) => boolean;
  readonly retry?: () => void;
}

/** A failed call: what is wrong, its trace id, and a retry where that makes sense. */
export function ProblemNote({ problem, isShown = () => false, retry }: ProblemNoteProps) {
  const others = [...problem.fields].filter(([field]) => !isShown(field));
  const isBelow = problem.fields.size > 0 && others.length === 0;
  const wait = useCountdown(problem.retryAfter ?? 0);
  const isRetryable = retry !== undefined && !FINAL.has(problem.kind);
  return (
    <div className="note problem" role="alert">
      <p>{isBelow ? "Nothing is saved yet: the fields below say what to change." : problem.message}</p>
      {problem.code === "second_factor_required" && <SecondFactor />}
      {others.length > 0 && (
        <ul>
          {others.map(([field, text]) => (
            <li key={field}>
              <code>{field}</code> {text}
            </li>
          ))}
        </ul>
      )}
      {problem.traceId && (
        <p className="quiet">
          Trace <code>{problem.traceId}</code>
        </p>
      )}
      {isRetryable && (
        <button type="button" onClick={retry} disabled={wait > 0}>
          {wait > 0 ? `Try again in ${wait} s` : "Try again"}
        </button>
      )}
    </div>
  );
}

/** Seconds left of a wait that begins when it is first shown. */
function useCountdown(seconds: number): number {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    if (left <= 0) return undefined;
    const timer = setTimeout(() => setLeft(left - 1), 1_000);
    return () => clearTimeout(timer);
  }, [left]);
  return left;
}
