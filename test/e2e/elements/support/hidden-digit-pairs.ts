import fc from "fast-check";
import { passesLuhn } from "../../../../src/base/luhn.js";

/** BIN and last four of both cards of a pair, and the digits in all. */
const SHOWN = [
  ["42424242", "4242", 16],
  ["55555555", "4444", 16],
  ["378282", "0005", 15],
  ["62000000", "0005", 19],
  ["400000", "0006", 13],
] as const;

const draw = fc.noBias(fc.nat(2 ** 30));
export const pairs = fc.tuple(fc.constantFrom(...SHOWN), draw, draw, fc.boolean());

/** Two cards that differ in digits between BIN and last four, and in their code. */
export function pairOf([[bin, last4, length], first, second, isCodeHidden]: typeof pairs extends fc.Arbitrary<infer T>
  ? T
  : never) {
  const hidden = length - bin.length - 4;
  const numberFrom = (start: number): string => {
    const number = `${bin}${String(start % 10 ** hidden).padStart(hidden, "0")}${last4}`;
    return passesLuhn(number) ? number : numberFrom(start + 1);
  };
  const [one, other] = [numberFrom(first), numberFrom(second)];
  return [
    { number: one, cvc: "123" },
    { number: other, cvc: isCodeHidden ? "987" : "123" },
  ] as const;
}
