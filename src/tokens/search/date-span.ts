import { parseIsoTime } from "../../base/iso-time.js";
import type { TimeSpan } from "../../base/time-span.js";
import type { RangeEnd } from "./query-reader.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** The first moment that PostgreSQL would be asked for with five digits of a year. */
const AFTER_ALL = Date.UTC(10_000, 0, 1);

/**
 * The time that a date stands for: the whole of the last unit that is written. `2021-12-31` is a day, and
 * `2021-12-31T23:59:59Z` a second, so that a range which holds it holds all of it. Undefined for what is no date.
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

/** The time between two ends; undefined where one of them is no date. */
export function rangeSpan(from: RangeEnd | undefined, to: RangeEnd | undefined): TimeSpan | undefined {
  const first = from && dateSpan(from.text);
  const last = to && dateSpan(to.text);
  if ((from && !first) || (to && !last)) return undefined;
  // What lies behind the last year there is: nothing, which a span from then on says as well.
  const behind = first && (first.before ?? new Date(AFTER_ALL - 1));
  return {
    from: from?.isInclusive ? first?.from : behind,
    before: to?.isInclusive ? last?.before : last?.from,
  };
}
