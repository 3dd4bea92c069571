import { isAscii } from "node:buffer";
import { Fault } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { exceededLimit, MAX_NAMES, MAX_VALUES } from "../base/json-structure.js";
import { BodyFault } from "../memory/body-fault.js";
import { MAX_DEPTH } from "../services/value.js";
import { checkExactNumbers, parseExactJson, requireExactNumbers } from "./rest/numbers.js";

/** One level more than a value may have: the object that holds it. */
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
 * Reads what every protocol asks of JSON: UTF-8, a bounded structure, and no number whose digits a double does not keep.
 * @throws {Fault} malformed_body or validation_failed.
 */
export function parseJsonBytes(bytes: Uint8Array): Json {
  const text = decodeJson(bytes);
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof Fault) throw error;
    // The parser's own words quote the body.
    throw malformed("must be valid JSON");
  }
}

/**
 * The same for a message that another parser is going to read.
 * @returns its text.
 */
export function checkJsonBytes(bytes: Uint8Array): string {
  const text = decodeJson(bytes);
  try {
    checkExactNumbers(text);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw malformed("must be valid JSON");
  }
  return text;
}

function decodeJson(bytes: Uint8Array): string {
  // Told from the bytes, before anything is built of them.
  const exceeded = exceededLimit(bytes, LIMITS);
  if (exceeded === "number") throw tooLongNumber(decodeUtf8(bytes));
  if (exceeded) throw badlyStructured(EXPECTATIONS[exceeded]);
  return decodeUtf8(bytes);
}

function decodeUtf8(bytes: Uint8Array): string {
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  try {
    return utf8.decode(bytes);
  } catch {
    throw malformed("must be UTF-8");
  }
}

/** Named like all numbers whose digits are not kept. What only looks like one cannot be JSON. */
function tooLongNumber(text: string): Fault {
  try {
    requireExactNumbers(text);
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  return malformed("must be valid JSON");
}

/** A body whose structure exceeds a limit. `text` says what it must be. */
export function badlyStructured(text: string): BodyFault {
  return new BodyFault("structure", "malformed_body", `The body ${text}.`, { fields: { body: [text] } });
}

/** A body or message that cannot be read. `text` says what it must be. */
export function malformed(text: string): Fault {
  return new Fault("malformed_body", `The body ${text}.`, { fields: { body: [text] } });
}
