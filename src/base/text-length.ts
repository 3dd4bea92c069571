/** Whether a text has more characters, counted in Unicode code points: the rules in the protos count so. */
export function isLongerThan(text: string, most: number): boolean {
  // A code point takes one or two of the units that `length` counts.
  if (text.length <= most) return false;
  return text.length > 2 * most || [...text].length > most;
}
