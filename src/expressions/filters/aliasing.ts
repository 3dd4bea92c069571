import { binLength } from "../bin-length.js";
import type { Budget } from "../budget.js";
import { type Operand, operandText } from "../operand.js";
import type { DrawBelow } from "../random.js";
import { unevaluable } from "../rejection.js";
import type { FilterArguments } from "./arguments.js";
import { type FilterFamily, passingNull } from "./filter.js";

const DIGITS = "0123456789";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

/** Budget units per character, which takes about 400 ns; a unit is about 40 ns. */
const UNITS_PER_CHARACTER = 10;

/** Bounds the work. A token id has at most 400 characters, but an expression may shorten the alias before it is one. */
const MAX_ALIAS_LENGTH = 4_096;

/**
 * Filters that replace characters by random ones, from a cryptographic source. An alias never equals its input: an
 * input without anything to replace is rejected, because the alias would put the data into a token id.
 */
export const aliasingFilters: FilterFamily = passingNull({
  alias_card(input, args, budget, draw) {
    const characters = aliasCharacters(input, "alias_card", budget);
    if (!characters.every((character) => /[0-9 -]/.test(character)))
      throw unevaluable("alias_card needs a card number");
    const digits = characters.filter(isDigit).length;
    const first = args.flag(0, "reveal_bin") ? binLength(digits) : 0;
    const last = args.flag(1, "reveal_last4") ? 4 : 0;
    if (digits <= first + last) throw unevaluable("alias_card needs more digits than it reveals");
    let digit = -1;
    return alias(characters, "alias_card", draw, (character) => {
      if (!isDigit(character)) return null;
      digit += 1;
      return digit < first || digit >= digits - last ? null : DIGITS;
    });
  },

  alias_preserve_format(input, args, budget, draw) {
    const characters = aliasCharacters(input, "alias_preserve_format", budget);
    const hidden = hiddenRange(characters.length, args);
    return alias(characters, "alias_preserve_format", draw, (character, at) => {
      if (!hidden(at)) return null;
      if (/\p{Nd}/u.test(character)) return DIGITS;
      return /\p{L}/u.test(character) ? LETTERS : null;
    });
  },

  alias_preserve_length(input, args, budget, draw) {
    const characters = aliasCharacters(input, "alias_preserve_length", budget);
    const hidden = hiddenRange(characters.length, args);
    return alias(characters, "alias_preserve_length", draw, (_, at) => (hidden(at) ? LETTERS + DIGITS : null));
  },
});

function aliasCharacters(input: Operand, filter: string, budget: Budget): string[] {
  const text = operandText(input, filter);
  if (text.length > MAX_ALIAS_LENGTH)
    throw unevaluable(`${filter} needs a text of at most ${MAX_ALIAS_LENGTH} characters`);
  budget.spend(text.length * UNITS_PER_CHARACTER);
  return [...text];
}

function isDigit(character: string): boolean {
  return DIGITS.includes(character);
}

function hiddenRange(length: number, args: FilterArguments): (at: number) => boolean {
  const first = args.wholeNumber(0, "reveal_first_length", 0);
  const end = length - args.wholeNumber(1, "reveal_last_length", 0);
  return (at) => at >= first && at < end;
}

/** Replaces each character by a random one of the alphabet that `alphabetFor` gives, or keeps it for null. */
function alias(
  characters: readonly string[],
  filter: string,
  draw: DrawBelow,
  alphabetFor: (character: string, at: number) => string | null,
): string {
  const alphabets = characters.map(alphabetFor);
  if (alphabets.every((alphabet) => alphabet === null)) {
    throw unevaluable(`${filter} must leave at least one character to replace`);
  }
  const original = characters.join("");
  for (;;) {
    const drawn = characters.map((character, at) => drawFrom(alphabets[at] ?? null, draw) ?? character).join("");
    // A single digit repeats with probability 1/10, so the loop ends soon.
    if (drawn !== original) return drawn;
  }
}

function drawFrom(alphabet: string | null, draw: DrawBelow): string | null {
  return alphabet === null ? null : alphabet.charAt(draw(alphabet.length));
}
