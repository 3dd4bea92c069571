import { invalid } from "../base/fault.js";
import { parseIsoTime } from "../base/iso-time.js";
import type { Expiry } from "./token.js";

const EXPECTED =
  "must be a future date or date-time, such as 2030-08-26T19:23:57-07:00, 8/26/2030 7:23:57 PM -07:00, " +
  "8/26/2030 19:23:57 or 9/27/2030";

/** Month, day, year; then a time of 12 hours or of 24, and an offset. The spelling of .NET in the United States. */
const US =
  /^(\d{1,2})\/(\d{1,2})\/(\d{4})(?:\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp][Mm])?(?:\s*(Z|[+-]\d{2}:?\d{2}))?)?$/;
const OFFSET = /(?:[Zz]|[+-]\d{2}:?\d{2})$/;

/**
 * Reads an expiry in any of the documented formats. Without an offset it is in UTC; a date alone is its first moment
 * there.
 * @throws {Fault} validation_failed naming expires_at, also for a time that has passed.
 */
export function parseExpiry(text: string, now: Date): Expiry {
  const spelled = fromUs(text.trim()) ?? text.trim();
  const at = parseIsoTime(spelled);
  if (!at || at.getTime() <= now.getTime()) throw invalid("expires_at", EXPECTED);
  return { at, text: showExpiry(at, spelled) };
}

/** A time as it is shown: in UTC like every other time, or with the offset that it was given. */
function showExpiry(at: Date, spelled: string): string {
  const offset = spelled.length > 10 ? OFFSET.exec(spelled)?.[0] : undefined;
  const minutes = offset === undefined || /^z$/i.test(offset) ? 0 : minutesOf(offset);
  if (minutes === 0) return at.toISOString();
  const local = new Date(at.getTime() + minutes * 60_000).toISOString();
  const fraction = local.endsWith(".000Z") ? "" : local.slice(19, 23);
  return `${local.slice(0, 19)}${fraction}${offset?.slice(0, 3)}:${offset?.slice(-2)}`;
}

function minutesOf(offset: string): number {
  const sign = offset.startsWith("-") ? -1 : 1;
  return sign * (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2)));
}

/** The United States' spelling as ISO 8601, or undefined where it is none. */
function fromUs(text: string): string | undefined {
  const [, month, day, year, hour, minute, second, half, offset] = US.exec(text) ?? [];
  if (!month || !day || !year) return undefined;
  const date = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  if (!hour || !minute) return date;
  if (half && (Number(hour) < 1 || Number(hour) > 12)) return "no time";
  const hours = half ? (Number(hour) % 12) + (half.toLowerCase() === "pm" ? 12 : 0) : Number(hour);
  return `${date}T${String(hours).padStart(2, "0")}:${minute}:${second ?? "00"}${offset ?? "Z"}`;
}
