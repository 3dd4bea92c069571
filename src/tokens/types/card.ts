import type { Json } from "../../base/json.js";
import { passesLuhn } from "../../base/luhn.js";
import { maskCard } from "./default-mask.js";
import { checkFields, type FieldRule, textThat, wholeNumberFrom } from "./fields.js";
import { textType } from "./text-type.js";
import type { TokenType } from "./token-type.js";

const NUMBER_EXPECTATION =
  "must be a card number: a string of 13 to 19 digits with a valid check digit, without separators";

/** Accepts any number with a valid check digit, including test numbers. */
function isCardNumber(text: string): boolean {
  return /^\d{13,19}$/.test(text) && passesLuhn(text);
}

const fields: Readonly<Record<string, FieldRule>> = {
  number: { required: true, expectation: NUMBER_EXPECTATION, check: textThat(isCardNumber) },
  // No comparison with today: an expired card is still worth storing.
  expiration_month: {
    required: false,
    expectation: "must be a month from 1 to 12",
    check: (value) => wholeNumberFrom(1, 12)(fromDigits(value, 2)),
  },
  expiration_year: {
    required: false,
    expectation: "must be a year of four digits",
    check: (value) => wholeNumberFrom(1000, 9999)(fromDigits(value, 4)),
  },
  cvc: { required: false, expectation: "must be a string of three or four digits", check: checkCvc },
};

/** Forms send "07" and "2030" as strings: a string of at most `most` digits becomes a number. */
function fromDigits(value: Json, most: number): Json {
  return typeof value === "string" && /^\d+$/.test(value) && value.length <= most ? Number(value) : value;
}

/** Published clients also send numbers. A number with fewer digits has lost a leading zero, or never was a cvc. */
function checkCvc(value: Json): string | undefined {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && /^\d{3,4}$/.test(text) ? text : undefined;
}

export const card: TokenType = {
  name: "card",
  normalize: (data) => checkFields(data, "card", fields),
  containers: ["/pci/high/"],
  mask: {
    number: "{{ data.number | reveal_last: 4 }}",
    expiration_month: "{{ data.expiration_month }}",
    expiration_year: "{{ data.expiration_year }}",
  },
  maskInCode: maskCard,
  fingerprintExpression: "{{ data.number }}",
  searchIndexes: [],
  details: "card",
};

export const cardNumber: TokenType = textType({
  name: "card_number",
  expectation: NUMBER_EXPECTATION,
  matches: isCardNumber,
  containers: ["/pci/high/"],
  details: "card",
});
