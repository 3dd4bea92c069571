import { isUtf8 } from "node:buffer";
import { parseReference } from "../../expressions/reference.js";
import { asText, type FindPlaces, UnwritableValue } from "./place.js";
import { placesInText } from "./plain.js";

/** The longest expression that is evaluated, and its braces: what is longer is no reference. */
export const LONGEST_REFERENCE = 4_100;

/**
 * Braces in one body that turn out to be no reference. Among random bytes one pair in 65,536 is two braces, so 5 MB hold
 * about 80; each costs 0.3 us to look at.
 */
const MAX_OTHER_BRACES = 20_000;

/** Characters that a line of text does not hold. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NO_TEXT = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/**
 * Bytes that are no text, as latin1: of all that lies between braces only what reads as a reference is one. In random
 * bytes that happens once in about 50 GB.
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

/** Text of a reference among bytes, or undefined where they are something else. */
function referenceIn(latin1: string): string | undefined {
  if (latin1.length < 3 || latin1.length > LONGEST_REFERENCE || NO_TEXT.test(latin1)) return undefined;
  const bytes = Buffer.from(latin1, "latin1");
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString("utf8");
  return isReference(text) ? text : undefined;
}

/** Whether the text between two braces reads as a reference. */
export function isReference(text: string): boolean {
  return !NO_TEXT.test(text) && !("rejected" in parseReference(text));
}
