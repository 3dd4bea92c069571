/**
 * Why an expression cannot be used. It stays inside this folder: callers get an {@link Outcome}, or a fault that names
 * the field. `reason` follows a field's name ("id: must be a valid expression: ...") and has no evaluated value,
 * because callers who see it may not be allowed to see the data.
 */
export class Rejection extends Error {
  override readonly name = "Rejection";
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

const MALFORMED = "must be a valid expression";

/** Whether the reason for a rejection lies in the expression, and is the same for any data. */
export function isMalformed(reason: string): boolean {
  return reason.startsWith(MALFORMED);
}

/** The expression uses a filter in a way that fails for any data. */
export class MisusedFilter extends Rejection {
  /** Position of the filter's name in the expression. */
  readonly at: number;

  constructor(detail: string, at: number) {
    super(`${MALFORMED}: ${detail}`);
    this.at = at;
  }
}

/** The text is not an expression. */
export function malformedExpression(detail: string): Rejection {
  return new Rejection(`${MALFORMED}: ${detail}`);
}

/** The expression is well formed but has no result for this data. */
export function unevaluable(detail: string): Rejection {
  return new Rejection(`could not be evaluated: ${detail}`);
}

/** The reason of an expression that must find something and does not. Exported for callers to recognize it. */
export const FOUND_NOTHING = "could not be evaluated: the expression found nothing";

/** The expression would take too much time, or its result would be too large. */
export const TOO_MUCH_WORK = "must be an expression that can be evaluated with less work";
