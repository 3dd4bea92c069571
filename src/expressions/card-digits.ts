import { passesLuhn } from "../base/luhn.js";
import { binLength } from "./bin-length.js";
import {
  asciiDigits,
  type DigitChain,
  digitChains,
  digitGroups,
  type PlacedDigit,
  type Stretch,
} from "./digit-chains.js";

/** Lengths of card numbers (ISO/IEC 7812-1, and Visa's first numbers). */
export const MIN_CARD_DIGITS = 13;
export const MAX_CARD_DIGITS = 19;
const LAST_DIGITS = 4;

/** Digits of a group that may be a verification code. */
const isCodeLength = (length: number) => length === 3 || length === 4;

/** Groups before and behind a number that may be its expiry and code. */
const NEIGHBOURS = 4;

/** The first digits of a number that no card has: as many as an issuer is known by in any case. */
const SHORTEST_BIN = 6;

/** The hidden digits of a card number: those between BIN and last four. */
export function hiddenStretch(digits: number): Stretch {
  return { start: binLength(digits), end: digits - LAST_DIGITS };
}

/**
 * The digits of a chain that may be hidden digits of a card number, or its verification code. Which ones depends on the
 * lengths of its groups and on no digit: what depends on a digit would give it away.
 */
export function hiddenDigits(chain: DigitChain): ReadonlySet<PlacedDigit> {
  const hidden = new Set<PlacedDigit>();
  const hide = ({ start, end }: Stretch) => {
    for (const digit of chain.slice(start, end)) hidden.add(digit);
  };
  const groups = digitGroups(chain);
  for (const { start, end } of groups) if (end - start > MAX_CARD_DIGITS) hide({ start: start + SHORTEST_BIN, end });
  for (const [first, last] of windows(chain, groups)) {
    const start = groups[first]?.start ?? 0;
    const end = groups[last]?.end ?? start;
    const within = hiddenStretch(end - start);
    hide({ start: start + within.start, end: start + within.end });
    const beside = [
      ...groups.slice(Math.max(0, first - NEIGHBOURS), first),
      ...groups.slice(last + 1, last + 1 + NEIGHBOURS),
    ];
    for (const group of beside) if (isCodeLength(group.end - group.start)) hide(group);
  }
  return hidden;
}

/** Whole groups that together have as many digits as a card number, as places of the first and the last. */
function* windows(chain: DigitChain, groups: readonly Stretch[]): Generator<readonly [first: number, last: number]> {
  if (chain.length < MIN_CARD_DIGITS) return;
  for (const [first, { start }] of groups.entries()) {
    for (let last = first; last < groups.length; last += 1) {
      const length = (groups[last]?.end ?? 0) - start;
      if (length > MAX_CARD_DIGITS) break;
      if (length >= MIN_CARD_DIGITS) yield [first, last];
    }
  }
}

/** The numbers of a text with the length and the check digit of a card number, in ASCII. */
export function* cardNumbersIn(text: string): Generator<string> {
  if (text.length < MIN_CARD_DIGITS) return;
  for (const chain of digitChains(text)) {
    const groups = digitGroups(chain);
    for (const [first, last] of windows(chain, groups)) {
      const number = asciiDigits(chain.slice(groups[first]?.start, groups[last]?.end));
      if (passesLuhn(number)) yield number;
    }
  }
}

/** Whether a chain is too short for a card number. */
export function isShort(chain: DigitChain): boolean {
  return chain.length < MIN_CARD_DIGITS;
}

/** Groups that have as many digits as a verification code. */
export function codesIn(chain: DigitChain): Stretch[] {
  return digitGroups(chain).filter(({ start, end }) => isCodeLength(end - start));
}

/** Whether a text is a verification code and nothing else. */
export function isCode(text: string): boolean {
  if (text.length > MAX_CODE_TEXT) return false;
  const [chain, ...others] = digitChains(text);
  return chain !== undefined && others.length === 0 && isCodeLength(chain.length) && !/\p{L}/u.test(text);
}

/** With blanks around it, or between its digits. */
const MAX_CODE_TEXT = 20;

/** Whether a number has the length of a card number, its check digit, and first digits that networks use. */
export function isNetworkNumber(number: string): boolean {
  return isCardLength(number) && NETWORKS.test(number) && passesLuhn(number);
}

export function isCardLength({ length }: string): boolean {
  return length >= MIN_CARD_DIGITS && length <= MAX_CARD_DIGITS;
}

/** First digits of the networks (ISO/IEC 7812-1: 3 to 6 are travel, banking and merchandising). */
const NETWORKS = /^(?:[3-6]|2[2-7]|81|1800|2131|9792)/;

/** Whether a number begins as those of networks do. */
export function beginsLikeCard(number: string): boolean {
  return NETWORKS.test(number);
}
