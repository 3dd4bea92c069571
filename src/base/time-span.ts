/** A span of time: its first moment, and the first one behind it. Undefined where it has no end. */
export interface TimeSpan {
  readonly from: Date | undefined;
  readonly before: Date | undefined;
}

export const ANY_TIME: TimeSpan = { from: undefined, before: undefined };

/** The time that two spans have in common. */
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
