import { parseIsoTime } from "../../base/iso-time.js";
import type { TimeSpan } from "../../base/time-span.js";
import type { RangeEnd } from "./query-reader.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** The first moment for which PostgreSQL would need a five-digit year. */
const AFTER_ALL = Date.UTC(10_000, 0, 1);

/**
 * The time span of a date: the whole of its last given unit. `2021-12-31` is a day, and `2021-12-31T23:59:59Z` a
 * second; a range with this end includes all of it. Undefined for other text.
 */
export function dateSpan(text: string): TimeSpan | undefined {
  const from = parseIsoTime(text);
  if (!from) return undefined;
  const end = from.getTime() + unitOf(text);
  return { from, before: end < AFTER_ALL ? new Date(end) : undefined };
}

function unitOf(text: string): number {
  if (text.length === 10) return DAY;
  const [, seconds, fraction] = /^.{10}.\d{2}:\d{2}(:\d{2})?(\.\d+)?/.exec(text) ?? [];
  if (fraction !== undefined) return 1;
  return seconds === undefined ? MINUTE : SECOND;
}

/** The time between two ends; undefined if one of them is not a date. */
export function rangeSpan(from: RangeEnd | undefined, to: RangeEnd | undefined): TimeSpan | undefined {
  const first = from && dateSpan(from.text);
  const last = to && dateSpan(to.text);
  if ((from && !first) || (to && !last)) return undefined;
  // Nothing can follow the last possible year, so the span may start there.
  const behind = first && (first.before ?? new Date(AFTER_ALL - 1));
  return {
    from: from?.isInclusive ? first?.from : behind,
    before: to?.isInclusive ? last?.before : last?.from,
  };
}
