import { asText, type FindPlaces } from "./place.js";
import { placesInText } from "./plain.js";

/**
 * Headers: Node reads and writes a byte as one character, so values and expressions are converted to and from UTF-8,
 * which servers read today. Bytes around them stay.
 */
export const placesInHeader: FindPlaces = function* (text) {
  for (const place of placesInText(text)) {
    yield {
      ...place,
      expression: Buffer.from(place.expression, "latin1").toString("utf8"),
      write: (value) => Buffer.from(asText(value), "utf8").toString("latin1"),
    };
  }
};

/**
 * Headers of a part of a multipart body. Values are within quotes there, and escaped as browsers do (HTML Standard,
 * multipart/form-data): a quote or line end in a value must not end its surroundings.
 */
export const placesInPartHeader: FindPlaces = function* (text) {
  for (const place of placesInHeader(text)) {
    yield {
      ...place,
      write: (value) => place.write(value).replaceAll(/["\r\n]/g, (char) => encodeURIComponent(char)),
    };
  }
};
