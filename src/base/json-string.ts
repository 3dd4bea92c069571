const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Most strings end within so many characters. Searching natively costs more than looking at them. */
const SHORT_STRING_CHARACTERS = 64;

/**
 * The offset behind the closing quote of a JSON string, or the length of a text that does not close it.
 * @param start offset of the opening quote.
 */
export function endOfJsonString(text: string, start: number): number {
  let at = start + 1;
  // Doubles with each search that finds an escape: a text of escapes needs few searches.
  for (let looked = SHORT_STRING_CHARACTERS; ; looked *= 2) {
    const end = Math.min(text.length, at + looked);
    for (; at < end; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit === QUOTE) return at + 1;
      if (unit === BACKSLASH) at += 1;
    }
    const quote = text.indexOf('"', at);
    if (at >= text.length || quote < 0) return text.length;
    const escaped = text.slice(at, quote).indexOf("\\");
    if (escaped < 0) return quote + 1;
    at += escaped;
  }
}

/**
 * The first characters of a JSON string, without decoding the rest.
 * @param start offset of the opening quote.
 */
export function startOfJsonString(text: string, start: number, characters: number): string {
  let at = start + 1;
  for (let read = 0; read < characters && at < text.length; read += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) break;
    // "\\u" precedes four digits, and any other backslash one character.
    at += unit !== BACKSLASH ? 1 : text[at + 1] === "u" ? 6 : 2;
  }
  return JSON.parse(`${text.slice(start, at)}"`);
}
