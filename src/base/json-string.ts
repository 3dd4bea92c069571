const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The offset behind the closing quote of a JSON string, or the length of a text that does not close it.
 * @param start offset of the opening quote.
 */
export function endOfJsonString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at + 1;
    if (unit === BACKSLASH) at += 1;
  }
  return text.length;
}
