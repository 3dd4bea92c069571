import { isAscii, isUtf8 } from "node:buffer";
import { atOnce, inTurns, type Steps } from "../../base/caller-turns.js";
import { Fault } from "../../base/fault.js";
import type { Json } from "../../base/json.js";
import {
  exceededLimit,
  type JsonStructure,
  MAX_NAMES,
  MAX_VALUES,
  measureStructure,
} from "../../base/json-structure.js";
import { isLarge, yieldToEventLoop } from "../../base/yield-to-event-loop.js";
import { BodyFault } from "../../memory/body-fault.js";
import { MAX_DEPTH } from "../../services/value.js";
import { checkExactNumbers, requireExactNumbers } from "./numbers.js";
import { parseInPieces } from "./parse-in-pieces.js";

/** One level more than a value may have: the object that contains it. */
const LIMITS = { depth: MAX_DEPTH + 1, values: MAX_VALUES, names: MAX_NAMES };

export const TOO_MANY_VALUES = `must hold at most ${MAX_VALUES} values; send it in parts`;
export const TOO_MANY_NAMES = `must hold at most ${MAX_NAMES} different field names; send it in parts`;

const EXPECTATIONS = {
  depth: `must not nest deeper than ${MAX_DEPTH} levels`,
  values: TOO_MANY_VALUES,
  names: TOO_MANY_NAMES,
};

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/**
 * Parses JSON by the rules of every protocol: UTF-8, bounded structure, and no number whose digits a double does not
 * keep. Works on a large one in as many turns of its caller as it needs.
 * @throws {Fault} malformed_body or validation_failed.
 */
export async function readJsonBytes(bytes: Uint8Array): Promise<Json> {
  if (!isLarge(bytes.length)) return atOnce(readInSteps(bytes));
  await yieldToEventLoop(bytes.length);
  return inTurns(readInSteps(bytes));
}

function* readInSteps(bytes: Uint8Array): Steps<Json> {
  const { exceeded, hasSuspects } = yield* measureStructure(bytes, LIMITS);
  requireWithin(exceeded, bytes);
  if (!isUtf8(bytes)) throw notUtf8();
  yield;
  const json = yield* parseJson(bytes);
  if (hasSuspects) {
    yield;
    requireExactNumbers(decodeUtf8(bytes));
  }
  return json;
}

/** A byte order mark, which may precede a text, and is no part of it. */
const MARK = Buffer.from("\ufeff");

function* parseJson(bytes: Uint8Array): Steps<Json> {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return yield* parseInPieces(json.subarray(0, MARK.length).equals(MARK) ? json.subarray(MARK.length) : json);
  } catch {
    // The parser's own message quotes the body.
    throw malformedJson("must be valid JSON");
  }
}

/**
 * The same checks, at once, for a message that another parser reads.
 * @returns its text.
 */
export function checkJsonBytes(bytes: Uint8Array): string {
  requireBounded(bytes);
  const text = decodeUtf8(bytes);
  try {
    checkExactNumbers(text);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw malformedJson("must be valid JSON");
  }
  return text;
}

/** Determined from the bytes, before anything is built from them. */
function requireBounded(bytes: Uint8Array): void {
  requireWithin(exceededLimit(bytes, LIMITS), bytes);
}

function requireWithin(exceeded: JsonStructure["exceeded"], bytes: Uint8Array): void {
  if (exceeded === "number") throw tooLongNumber(decodeUtf8(bytes));
  if (exceeded) throw badlyStructured(EXPECTATIONS[exceeded]);
}

function decodeUtf8(bytes: Uint8Array): string {
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  try {
    return utf8.decode(bytes);
  } catch {
    throw notUtf8();
  }
}

function notUtf8(): Fault {
  return malformedJson("must be UTF-8");
}

/** The same error as for other numbers whose digits are lost. Text that only resembles a number is invalid JSON. */
function tooLongNumber(text: string): Fault {
  try {
    requireExactNumbers(text);
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  return malformedJson("must be valid JSON");
}

/** The fault of a body whose structure exceeds a limit. `text` is the expectation. */
export function badlyStructured(text: string): BodyFault {
  return new BodyFault("structure", "malformed_body", `The body ${text}.`, { fields: { body: [text] } });
}

/** The fault of a body or message that cannot be read. `text` is the expectation. */
export function malformedJson(text: string): Fault {
  return new Fault("malformed_body", `The body ${text}.`, { fields: { body: [text] } });
}
