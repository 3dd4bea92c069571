import { binLength } from "../bin-length.js";
import { operandText } from "../operand.js";
import { type FilterFamily, passingNull } from "./filter.js";

/** Filters that show part of a text. Lengths count code points. */
export const maskingFilters: FilterFamily = passingNull({
  /**
   * Unlike `reveal`, keeps hyphens, and shows a text that is not longer than the argument entirely: both are
   * documented.
   */
  reveal_last(input, args) {
    const characters = [...operandText(input, "reveal_last")];
    const hidden = characters.length - args.wholeNumber(0, "length");
    const mask = args.character(1, "mask_char", "X");
    return characters.map((character, at) => (at >= hidden || character === "-" ? character : mask)).join("");
  },

  reveal(input, args) {
    const characters = [...operandText(input, "reveal")];
    const first = args.wholeNumber(0, "reveal_first", 0);
    const last = args.wholeNumber(1, "reveal_last", 0);
    const mask = args.character(2, "mask_char", "X");
    const preserved = new Set(args.text(3, "preserve_chars", ""));
    if (characters.length <= first + last) return mask.repeat(characters.length);
    const end = characters.length - last;
    const shown = (character: string, at: number) => at < first || at >= end || preserved.has(character);
    return hideRest(characters, shown, mask);
  },

  card_mask(input, args) {
    const characters = [...operandText(input, "card_mask")];
    const revealBin = args.flag(0, "reveal_bin");
    const revealLast4 = args.flag(1, "reveal_last4");
    const mask = args.character(2, "mask_char", "X");
    const preserved = new Set(args.text(3, "preserve_char", ""));
    const digits = characters.filter((character) => !preserved.has(character)).length;
    const first = revealBin ? binLength(digits) : 0;
    const end = digits - (revealLast4 ? 4 : 0);
    let digit = -1;
    const shown = (character: string) => {
      if (preserved.has(character)) return true;
      digit += 1;
      return digit < first || digit >= end;
    };
    return hideRest(characters, shown, mask);
  },

  last4(input) {
    return [...operandText(input, "last4")].slice(-4).join("");
  },
});

/** Masks the hidden part, or everything if the text would stay unchanged. */
function hideRest(
  characters: readonly string[],
  shown: (character: string, at: number) => boolean,
  mask: string,
): string {
  const masked = characters.map((character, at) => (shown(character, at) ? character : mask)).join("");
  return masked === characters.join("") ? mask.repeat(characters.length) : masked;
}
