import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import type { MaskMatcher } from "./transform.js";

/**
 * Code of a mask transform. It runs in the sandbox like any other, because the tenant's pattern may backtrack forever
 * and must be stoppable. Within each match, every occurrence of a captured text is replaced character by character.
 */
export const MASK_CODE = `
module.exports = function ({ args }) {
  const passesLuhn = (digits) => {
    let sum = 0;
    for (let i = 0; i < digits.length; i += 1) {
      let digit = Number(digits[digits.length - 1 - i]);
      if (i % 2 === 1) { digit *= 2; if (digit > 9) digit -= 9; }
      sum += digit;
    }
    return sum % 10 === 0;
  };
  const hide = (text) => args.replacement.repeat(text.length);
  const mask = (text) => {
    if (args.matcher === "chase_stratus_pan") {
      return text.replace(/\\d{13,19}/g, (digits) => (passesLuhn(digits) ? hide(digits) : digits));
    }
    return text.replace(new RegExp(args.expression, "gs"), (match, ...rest) => {
      const end = rest.findIndex((part) => typeof part === "number");
      return rest.slice(0, end).filter(Boolean).reduce((masked, group) => masked.split(group).join(hide(group)), match);
    });
  };
  return { text: mask(args.text) };
};
`;

/** Masking works on the text of a body, whatever its type. */
export function maskArguments(matcher: MaskMatcher, replacement: string, text: string): JsonObject {
  const expression = matcher.kind === "regex" ? { expression: matcher.expression } : {};
  return { matcher: matcher.kind, ...expression, replacement, text };
}

export function maskedText(returned: Json): string {
  const text = isJsonObject(returned) ? returned.text : undefined;
  if (typeof text !== "string") throw new Error("masking returned no text");
  return text;
}
