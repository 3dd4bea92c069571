/** Whether a text has more than `most` Unicode code points, which is how the rules in the protos count. */
export function isLongerThan(text: string, most: number): boolean {
  // A code point takes one or two UTF-16 units of `length`.
  if (text.length <= most) return false;
  return text.length > 2 * most || [...text].length > most;
}
