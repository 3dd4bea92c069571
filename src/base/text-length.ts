/** How many UTF-16 units two texts have in common from their beginning. */
export function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** Whether a text has more than `most` Unicode code points, which is how the rules in the protos count. */
export function isLongerThan(text: string, most: number): boolean {
  // A code point takes one or two UTF-16 units of `length`.
  if (text.length <= most) return false;
  return text.length > 2 * most || [...text].length > most;
}
