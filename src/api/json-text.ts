import { Fault, invalidFields } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { endOfJsonString } from "../base/json-string.js";
import { MAX_DEPTH } from "../services/value.js";
import { parseExactJson, requireExactNumbers } from "./rest/numbers.js";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/**
 * Reads what every protocol asks of JSON: UTF-8, a bounded depth, and no number whose digits a double does not keep.
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
    requireExactNumbers(text);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw malformed("must be valid JSON");
  }
  return text;
}

function decodeJson(bytes: Uint8Array): string {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed("must be UTF-8");
  }
  // One level more than a value may have: the object that holds it.
  if (depthOf(text) > MAX_DEPTH + 1) throw malformed(`must not nest deeper than ${MAX_DEPTH} levels`);
  return text;
}

/** Levels of brackets outside of strings. Told from the text, since a deep value would exhaust the stack of its readers. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case 0x22: {
        index = endOfJsonString(text, index) - 1;
        break;
      }
      case 0x5b:
      case 0x7b:
        depth += 1;
        if (depth > deepest) deepest = depth;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      default:
    }
  }
  return deepest;
}

/** A body or message that cannot be read. `text` says what it must be. */
export function malformed(text: string): Fault {
  return new Fault("malformed_body", `The body ${text}.`, { fields: invalidFields({ body: [text] }).fields ?? {} });
}
