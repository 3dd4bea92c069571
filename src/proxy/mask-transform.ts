import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import type { MaskMatcher } from "./transform.js";

/**
 * Code of a mask transform. It runs in the sandbox like any other, because the tenant's pattern may backtrack forever
 * and must be stoppable. It replaces what groups capture character by character, also in a lookahead or lookbehind
 * outside of the match, and each occurrence of it within the match.
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
  /** Adds a span, or extends the last one if they touch: a lookahead at each digit captures millions. */
  const add = (spans, start, end) => {
    const last = spans[spans.length - 1];
    if (last && start >= last[0] && start <= last[1]) last[1] = Math.max(last[1], end);
    else spans.push([start, end]);
  };
  /** Adds each occurrence of a part in a text. */
  const addEach = (spans, part, text) => {
    for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) {
      add(spans, at, at + part.length);
    }
  };
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
      const { 0: match, index } = found;
      const inside = [];
      for (let at = 1; at < found.length; at += 1) {
        if (!found[at]) continue;
        const [start, end] = found.indices[at];
        if (start < index || end > index + match.length) add(outside, start, end);
        else {
          add(inside, start - index, end - index);
          addEach(inside, found[at], match);
        }
      }
      masked += text.slice(from, index) + hideSpans(match, inside);
      from = index + match.length;
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
