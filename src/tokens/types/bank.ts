import { passesAba } from "./check-digits.js";
import { maskAccountNumber, maskBank } from "./default-mask.js";
import { checkFields, type FieldRule, textThat } from "./fields.js";
import { textType } from "./text-type.js";
import type { TokenType } from "./token-type.js";

const ROUTING_EXPECTATION = "must be a nine-digit routing number, as a string, with a valid checksum";
const ACCOUNT_EXPECTATION = "must be an account number: a string of 1 to 17 digits";
/** This older type has always needed three digits; `bank` never had a lower limit. */
const US_ACCOUNT_EXPECTATION = "must be an account number: a string of 3 to 17 digits";

function isRoutingNumber(text: string): boolean {
  return /^\d{9}$/.test(text) && passesAba(text);
}

function isAccountNumber(text: string): boolean {
  return /^\d{1,17}$/.test(text);
}

function isUsAccountNumber(text: string): boolean {
  return /^\d{3,17}$/.test(text);
}

const fields: Readonly<Record<string, FieldRule>> = {
  routing_number: { required: true, expectation: ROUTING_EXPECTATION, check: textThat(isRoutingNumber) },
  account_number: { required: true, expectation: ACCOUNT_EXPECTATION, check: textThat(isAccountNumber) },
};

export const bank: TokenType = {
  name: "bank",
  normalize: (data) => checkFields(data, "bank account", fields),
  containers: ["/bank/high/"],
  // Not `reveal_last`, which shows a number of up to four digits as a whole.
  mask: {
    routing_number: "{{ data.routing_number }}",
    account_number: "{{ data.account_number | reveal: reveal_last: 4 }}",
  },
  maskInCode: maskBank,
  fingerprintExpression: "{{ data.account_number }}|{{ data.routing_number }}",
  searchIndexes: [],
  details: "bank",
};

export const usBankAccountNumber: TokenType = textType({
  name: "us_bank_account_number",
  expectation: US_ACCOUNT_EXPECTATION,
  matches: isUsAccountNumber,
  containers: ["/bank/high/"],
  mask: "{{ data | reveal: reveal_last: 4 }}",
  maskInCode: maskAccountNumber,
});

export const usBankRoutingNumber: TokenType = textType({
  name: "us_bank_routing_number",
  expectation: ROUTING_EXPECTATION,
  matches: isRoutingNumber,
  containers: ["/bank/low/"],
});
