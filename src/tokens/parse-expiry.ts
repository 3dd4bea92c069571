import { invalid } from "../base/fault.js";
import { parseIsoTime } from "../base/iso-time.js";
import type { Expiry } from "./token.js";

const EXPECTED =
  "must be a future date or date-time, such as 2030-08-26T19:23:57-07:00, 8/26/2030 7:23:57 PM -07:00, " +
  "8/26/2030 19:23:57 or 9/27/2030";

/** Month, day, year; then a 12-hour or 24-hour time, and an offset. The United States format of .NET. */
const US =
  /^(\d{1,2})\/(\d{1,2})\/(\d{4})(?:\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp][Mm])?(?:\s*(Z|[+-]\d{2}:?\d{2}))?)?$/;
const OFFSET = /(?:[Zz]|[+-]\d{2}:?\d{2})$/;

/**
 * Parses an expiry in any documented format. Default offset: UTC. A date alone means its first moment in UTC.
 * @throws {Fault} validation_failed naming expires_at, also for a time in the past.
 */
export function parseExpiry(text: string, now: Date): Expiry {
  const spelled = fromUs(text.trim()) ?? text.trim();
  const at = parseIsoTime(spelled);
  if (!at || at.getTime() <= now.getTime()) throw invalid("expires_at", EXPECTED);
  return { at, text: showExpiry(at, spelled) };
}

/** Formats a time in UTC like every other time, or with its original offset. */
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

/** Converts the United States format to ISO 8601. Undefined for other text. */
function fromUs(text: string): string | undefined {
  const [, month, day, year, hour, minute, second, half, offset] = US.exec(text) ?? [];
  if (!month || !day || !year) return undefined;
  const date = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  if (!hour || !minute) return date;
  if (half && (Number(hour) < 1 || Number(hour) > 12)) return "no time";
  const hours = half ? (Number(hour) % 12) + (half.toLowerCase() === "pm" ? 12 : 0) : Number(hour);
  return `${date}T${String(hours).padStart(2, "0")}:${minute}:${second ?? "00"}${offset ?? "Z"}`;
}
