import { asText, type FindPlaces } from "./place.js";
import { placesInText } from "./plain.js";

/**
 * Headers: Node reads and writes a byte as one character, so that values and expressions go to and fro as UTF-8, which is
 * what servers read today; bytes around them stay.
 */
export const placesInHeader: FindPlaces = (text) =>
  placesInText(text).map((place) => ({
    ...place,
    expression: Buffer.from(place.expression, "latin1").toString("utf8"),
    write: (value) => Buffer.from(asText(value), "utf8").toString("latin1"),
  }));
