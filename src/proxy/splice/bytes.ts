import { isUtf8 } from "node:buffer";
import { parseReference } from "../../expressions/reference.js";
import { asText, type FindPlaces, UnwritableValue } from "./place.js";
import { placesInText } from "./plain.js";

export const MAX_REFERENCE_LENGTH = 4_100;

/**
 * Limit of braces in one body that are not references. Of random bytes one pair in 65,536 is two braces, so 5 MB have
 * about 80; each costs 0.3 us to check.
 */
const MAX_OTHER_BRACES = 20_000;

/** Characters that a line of text does not have. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NO_TEXT = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/**
 * Binary data, as latin1: only text between braces that parses as a reference counts. In random bytes that happens once
 * in about 50 GB.
 */
export const placesInBytes: FindPlaces = function* (text) {
  let others = 0;
  for (const place of placesInText(text)) {
    const expression = referenceIn(place.expression);
    if (expression !== undefined) {
      yield { ...place, expression, write: (value) => Buffer.from(asText(value), "utf8").toString("latin1") };
    } else {
      others += 1;
      if (others > MAX_OTHER_BRACES) throw new UnwritableValue("must hold fewer double braces that are no expressions");
    }
  }
};

/** The text of a reference among bytes, or undefined if they are something else. */
function referenceIn(latin1: string): string | undefined {
  if (latin1.length < 3 || latin1.length > MAX_REFERENCE_LENGTH || NO_TEXT.test(latin1)) return undefined;
  const bytes = Buffer.from(latin1, "latin1");
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString("utf8");
  return isReference(text) ? text : undefined;
}

/** Whether the text between two braces parses as a reference. */
export function isReference(text: string): boolean {
  return !NO_TEXT.test(text) && !("rejected" in parseReference(text));
}
