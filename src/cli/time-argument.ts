import { parseIsoTime } from "../base/iso-time.js";
import { UsageError } from "./usage-error.js";

/** What --since takes, for the help of commands. */
export const TIME_MEANING = "ISO 8601, or a time ago such as 90m, 24h or 7d";

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 60 * 60_000, d: 24 * 60 * 60_000 };

/** @throws {UsageError} */
export function readTime(name: string, given: string | boolean | undefined, now: Date): Date | undefined {
  if (given === undefined) return undefined;
  const text = String(given);
  const [, count, unit = ""] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const length = UNITS[unit];
  if (count !== undefined && length !== undefined) return new Date(now.getTime() - Number(count) * length);
  const time = parseIsoTime(text);
  if (time) return time;
  throw new UsageError(`--${name} must be an ISO 8601 time, or a time ago such as 90m, 24h or 7d.`);
}
