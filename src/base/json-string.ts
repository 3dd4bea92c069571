/**
 * Where a string of JSON text ends: behind its closing quote, or at the end of a text that does not close it.
 * @param start of its opening quote.
 */
export function endOfJsonString(text: string, start: number): number {
  let end = start;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end + 1;
  }
}
