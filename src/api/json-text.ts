import { Fault, invalidFields } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { exceededLimit } from "../base/json-structure.js";
import { MAX_DEPTH } from "../services/value.js";
import { checkExactNumbers, parseExactJson } from "./rest/numbers.js";

/**
 * Values that one request may hold, over every protocol. All steps of a request together take at most 70 ms of the event loop
 * for so many (measured on two cores), whatever their shape; 400,000 members of one object took 3.3 s.
 */
export const MAX_VALUES = 50_000;

/** Different names of members in one request. Each costs the parser 3 us, a hundred times as much as a value. */
export const MAX_NAMES = 10_000;

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
  if (exceeded) throw malformed(EXPECTATIONS[exceeded]);
  try {
    return utf8.decode(bytes);
  } catch {
    throw malformed("must be UTF-8");
  }
}

/** A body or message that cannot be read. `text` says what it must be. */
export function malformed(text: string): Fault {
  return new Fault("malformed_body", `The body ${text}.`, { fields: invalidFields({ body: [text] }).fields ?? {} });
}
