/** Twice the 64 levels that the API takes. Whoever walks through a value calls itself for each level. */
const MOST_LEVELS = 128;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Whether the text of JSON has more than 128 levels, without reading it.
 * Opening and closing brackets differ from each other in the same bits: [ ] 5b 5d, { } 7b 7d.
 */
export function isNestedTooDeep(bytes: Buffer): boolean {
  let level = 0;
  let isText = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    if (isText) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) {
      isText = true;
    } else if ((byte & 0xdf) === 0x5b) {
      level += 1;
      if (level > MOST_LEVELS) return true;
    } else if ((byte & 0xdf) === 0x5d) {
      level -= 1;
    }
  }
  return false;
}
