import { atOnce, type Steps } from "./caller-turns.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Maximum number of values in the JSON of one request or response. No step of a request holds the event
 * loop for more than 25 ms at this size (two busy cores), whatever its shape; 400,000 members of one object took 3.3 s.
 */
export const MAX_VALUES = 50_000;

/** Maximum number of distinct member names. Each costs the parser 3 us, a hundred times as much as a number. */
export const MAX_NAMES = 10_000;

/**
 * Maximum number of values in the arguments or result of tenants' code, which is only parsed and written, up to 5 MB.
 */
export const MAX_RESULT_VALUES = 250_000;

export interface JsonLimits {
  /** Levels of arrays and objects. */
  readonly depth: number;
  /** Scalars, arrays and objects together. */
  readonly values: number;
  /** Distinct member names, across all objects. */
  readonly names: number;
}

/** The longest spelling of a number that a double keeps: a sign, "0.", 323 zeros and 17 digits. */
export const MAX_NUMBER_CHARACTERS = 400;

/**
 * What a byte outside of strings means for the structure. Numbers, literals and bytes that are not JSON mean nothing.
 */
const OTHER = 0;
const BLANK = 1;
const STRING = 2;
const SEPARATOR = 3;
const NAMED = 4;
const OPENING = 5;
const CLOSING = 6;

const MEANING = new Uint8Array(256);
for (const blank of " \t\r\n") MEANING[blank.charCodeAt(0)] = BLANK;
MEANING[QUOTE] = STRING;
MEANING[COMMA] = SEPARATOR;
MEANING[COLON] = NAMED;
for (const bracket of "[{") MEANING[bracket.charCodeAt(0)] = OPENING;
for (const bracket of "]}") MEANING[bracket.charCodeAt(0)] = CLOSING;

/** What the bytes of a JSON text say of it before anything is built from them. */
export interface JsonStructure {
  /** The limit that it exceeds, or "number" if a number has too many digits to keep. */
  readonly exceeded: keyof JsonLimits | "number" | undefined;
  /** Whether a double may not keep one of its numbers: one of 16 characters or more, or with an exponent. */
  readonly hasSuspects: boolean;
}

/** Bytes that are looked at in one step, in about 0.1 ms. */
const STEP_BYTES = 32 * 1024;

/** Characters of a number that a double keeps in any case. */
const SHORT_NUMBER = 15;

/**
 * Returns the limit that a JSON text exceeds, or "number" if one has too many digits to keep. Takes one pass over the
 * bytes without building anything: 6 ms for 5 MB. For invalid JSON it counts at least the values, names and levels that
 * a parser meets before it fails.
 */
export function exceededLimit(json: Uint8Array, limits: JsonLimits): JsonStructure["exceeded"] {
  return atOnce(measureStructure(json, limits)).exceeded;
}

/** The same in steps. What follows an exceeded limit is not looked at. */
export function* measureStructure(json: Uint8Array, limits: JsonLimits): Steps<JsonStructure> {
  const bytes = bufferOf(json);
  let depth = 0;
  // Each comma precedes a value, and so does each opening bracket unless it closes at once.
  let values = 1;
  let members = 0;
  let isJustOpened = false;
  let literal = 0;
  let hasSuspects = false;
  let stepEnd = STEP_BYTES;
  for (let at = 0; at < json.length; at += 1) {
    if (at >= stepEnd) {
      yield;
      stepEnd = at + STEP_BYTES;
    }
    const byte = json[at] ?? 0;
    const meaning = MEANING[byte];
    if (meaning === OTHER) {
      literal += 1;
      if (literal > MAX_NUMBER_CHARACTERS) return { exceeded: "number", hasSuspects };
      if (literal > SHORT_NUMBER || (literal > 1 && isExponent(byte, json[at - 1] ?? 0))) hasSuspects = true;
    } else literal = 0;
    if (meaning === BLANK) continue;
    if (isJustOpened && meaning !== CLOSING) values += 1;
    isJustOpened = meaning === OPENING;
    if (meaning === OPENING) {
      depth += 1;
      if (depth > limits.depth) return { exceeded: "depth", hasSuspects };
    } else if (meaning === CLOSING) depth -= 1;
    else if (meaning === STRING) at = closingQuote(bytes, at);
    else if (meaning === NAMED) members += 1;
    else if (meaning === SEPARATOR) values += 1;
    if (values > limits.values) return { exceeded: "values", hasSuspects };
  }
  const exceeded = members > limits.names && hasMoreNames(json, limits.names) ? "names" : undefined;
  return { exceeded, hasSuspects };
}

/** Whether a byte is the letter of an exponent, after a digit or a point: also in what is no number. */
function isExponent(byte: number, before: number): boolean {
  return (byte === 0x65 || byte === 0x45) && (before === 0x2e || (before >= 0x30 && before <= 0x39));
}

/** Most strings end within so many bytes. Searching natively costs more than looking at them. */
const SHORT_STRING_BYTES = 64;

/** The offset of the closing quote; `end` if the string does not close before. */
export function closingQuote(json: Buffer, opening: number, end = json.length): number {
  let at = opening + 1;
  // Doubles with each search that finds an escape: a text of escapes needs few searches.
  for (let looked = SHORT_STRING_BYTES; ; looked *= 2) {
    const stop = Math.min(end, at + looked);
    for (; at < stop; at += 1) {
      const byte = json[at];
      if (byte === QUOTE) return at;
      if (byte === BACKSLASH) at += 1;
    }
    if (at >= end) return end;
    const rest = json.subarray(at, end);
    const quote = rest.indexOf(QUOTE);
    if (quote < 0) return end;
    const escaped = rest.subarray(0, quote).indexOf(BACKSLASH);
    if (escaped < 0) return at + quote;
    at += escaped;
  }
}

/**
 * The number of members of all objects in a valid JSON text. A parser keeps one of several members of the same name in
 * an object, so fewer are left if names repeat.
 */
export function countMembers(json: Uint8Array): number {
  const bytes = bufferOf(json);
  let members = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = closingQuote(bytes, at);
    else if (byte === COLON) members += 1;
  }
  return members;
}

function bufferOf(json: Uint8Array): Buffer {
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength);
}

/** Names are compared by spelling: different escapes of one name count separately. */
function hasMoreNames(json: Uint8Array, most: number): boolean {
  const bytes = bufferOf(json);
  const names = new Set<string>();
  let start = 0;
  let end = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      start = at + 1;
      end = closingQuote(bytes, at);
      at = end;
    } else if (byte === COLON) {
      names.add(bytes.toString("latin1", start, end));
      if (names.size > most) return true;
    }
  }
  return false;
}
