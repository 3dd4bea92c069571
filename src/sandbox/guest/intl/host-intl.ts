import type { Host } from "../host.js";
import { parseJson, writeJson } from "../intrinsics.js";

/** The worker compares at most this many characters. */
const MAX_COMPARED_CHARACTERS = 4_096;

export interface IntlRequest {
  readonly kind: string;
  readonly method: string;
  readonly locales?: unknown;
  readonly options?: unknown;
  readonly args?: readonly unknown[];
}

/** Calls of Node's own `Intl` in the worker. */
export class HostIntl {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** @throws {RangeError | TypeError} with Node's message. */
  call({ locales, options, ...request }: IntlRequest): unknown {
    const text = writeJson({ ...request, locales: localesOf(locales), options: optionsOf(options) });
    const result = this.#host.intl(text ?? "");
    if (result.startsWith("=")) return parseJson(result.slice(1));
    const [name = "", ...message] = result.slice(1).split(": ");
    throw new (name === "RangeError" ? RangeError : TypeError)(message.join(": "));
  }

  /** Compares longer texts by their beginning, then by their characters. */
  compare(locales: unknown, options: unknown, a: string, b: string): number {
    if (a === b) return 0;
    const args = [a.slice(0, MAX_COMPARED_CHARACTERS), b.slice(0, MAX_COMPARED_CHARACTERS)];
    const order = Number(this.call({ kind: "Collator", method: "compare", locales, options, args }));
    const isCut = Math.max(a.length, b.length) > MAX_COMPARED_CHARACTERS;
    return order !== 0 || !isCut ? order : a < b ? -1 : 1;
  }
}

function localesOf(locales: unknown): unknown {
  if (locales === undefined || typeof locales === "string") return locales;
  if (locales === null) throw new TypeError("Cannot convert undefined or null to object");
  return Array.from(Object(locales), String);
}

/** The own and inherited properties of an options object that are plain values. */
function optionsOf(options: unknown): unknown {
  if (options === undefined) return undefined;
  if (options === null) throw new TypeError("Cannot convert undefined or null to object");
  const read: Record<string, unknown> = {};
  for (const name in Object(options)) {
    const value: unknown = Object(options)[name];
    if (value !== undefined)
      read[name] = typeof value === "number" || typeof value === "boolean" ? value : String(value);
  }
  return read;
}

/** A time in milliseconds for JSON. @throws {RangeError} for an invalid time. */
export function intlTime(value: unknown): number {
  const time = value === undefined ? Date.now() : Number(value);
  if (!Number.isFinite(time) || Math.abs(time) > 8.64e15) throw new RangeError("Invalid time value");
  return time;
}

/** A number in the worker's form: JSON has no NaN, infinities, -0 or BigInt. */
export function numeral(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  const number = Number(value);
  return Object.is(number, -0) ? "-0" : String(number);
}
