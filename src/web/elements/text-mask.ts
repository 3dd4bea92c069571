import { asciiDigits } from "./digits.js";

const SLOTS: Readonly<Record<string, RegExp>> = { "#": /[0-9]/, A: /\p{L}/u, "*": /[0-9]|\p{L}/u };

/** Fits a text into a mask: `#` takes a digit, `A` a letter, `*` either; other characters appear by themselves. */
export function applyMask(mask: string, text: string): string {
  const given = [...asciiDigits(text)].filter((character) => /[0-9]|\p{L}/u.test(character));
  let shown = "";
  let pending = "";
  for (const place of mask) {
    const slot = Object.hasOwn(SLOTS, place) ? SLOTS[place] : undefined;
    if (!slot) {
      // A literal that was typed or pasted with the text is not a second time part of it.
      if (given[0] === place) given.shift();
      pending += place;
      continue;
    }
    while (given[0] !== undefined && !slot.test(given[0])) given.shift();
    const next = given.shift();
    if (next === undefined) break;
    shown += pending + next;
    pending = "";
  }
  return shown;
}

export function fillsMask(mask: string, text: string): boolean {
  return applyMask(mask, text).length === mask.length && text.length === mask.length;
}
