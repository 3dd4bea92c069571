const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Where a string of JSON text ends: behind its closing quote, or at the end of a text that does not close it.
 * @param start of its opening quote.
 */
export function endOfJsonString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at + 1;
    if (unit === BACKSLASH) at += 1;
  }
  return text.length;
}
