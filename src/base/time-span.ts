/** A half-open span of time. An absent bound means unlimited. */
export interface TimeSpan {
  readonly from: Date | undefined;
  readonly before: Date | undefined;
}

export const ANY_TIME: TimeSpan = { from: undefined, before: undefined };

export function intersectSpans(one: TimeSpan, other: TimeSpan): TimeSpan {
  return {
    from: chosen(one.from, other.from, (a, b) => a > b),
    before: chosen(one.before, other.before, (a, b) => a < b),
  };
}

function chosen(
  one: Date | undefined,
  other: Date | undefined,
  isNarrower: (one: Date, other: Date) => boolean,
): Date | undefined {
  if (!one || !other) return one ?? other;
  return isNarrower(one, other) ? one : other;
}
