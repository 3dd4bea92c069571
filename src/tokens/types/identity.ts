import { textType } from "./text-type.js";
import type { TokenType } from "./token-type.js";

/** Nine digits with single hyphens between any of them. The positions of hyphens are kept and not checked. */
function hasNineDigits(text: string): boolean {
  return /^\d(?:-?\d){8}$/.test(text);
}

const shared = {
  expectation: "must be a string of nine digits, with or without hyphens between them",
  matches: hasNineDigits,
  containers: ["/pii/high/"],
  fingerprintExpression: "{{ data | remove: '-' }}",
  searchIndexes: ["{{ data }}", "{{ data | remove: '-' }}", "{{ data | last4 }}"],
} as const;

export const socialSecurityNumber: TokenType = textType({
  name: "social_security_number",
  ...shared,
});

export const employerIdNumber: TokenType = textType({
  name: "employer_id_number",
  ...shared,
});
