import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import type { MaskMatcher } from "./transform.js";

/**
 * Code of a mask transform. It runs in the sandbox like any other, because the tenant's pattern may backtrack forever
 * and must be stoppable. Within each match, every occurrence of a captured text is replaced character by
 * character, and so is what a lookahead or lookbehind captures outside of the match.
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
  const hideSpans = (text, spans) => {
    let masked = "";
    let from = 0;
    for (const [start, end] of spans.sort((a, b) => a[0] - b[0])) {
      if (end <= from) continue;
      masked += text.slice(from, Math.max(start, from)) + args.replacement.repeat(end - Math.max(start, from));
      from = end;
    }
    return masked + text.slice(from);
  };
  const mask = (text) => {
    if (args.matcher === "chase_stratus_pan") {
      return text.replace(/\\d{13,19}/g, (digits) => (passesLuhn(digits) ? hide(digits) : digits));
    }
    let masked = "";
    let from = 0;
    const outside = [];
    for (const found of text.matchAll(new RegExp(args.expression, "dgs"))) {
      const [match, ...groups] = found;
      const end = found.index + match.length;
      groups.forEach((group, at) => {
        const span = found.indices[at + 1];
        if (group && (span[0] < found.index || span[1] > end)) outside.push(span);
      });
      masked += text.slice(from, found.index);
      masked += groups.filter(Boolean).reduce((rest, group) => rest.split(group).join(hide(group)), match);
      from = end;
    }
    return hideSpans(masked + text.slice(from), outside);
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
