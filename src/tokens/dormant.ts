import { isDeepStrictEqual } from "node:util";
import type { Json } from "../base/json.js";
import { mergePatch } from "../base/merge-patch.js";
import { isTemplate } from "../expressions/expression.js";
import { EXPRESSION_FIELDS, type ExpressionField, type Token, type TokenAttributes } from "./token.js";
import type { TokenPatch } from "./token-patch.js";
import type { TokenType } from "./types/token-type.js";

/**
 * Which expressions of a patched token are kept without being evaluated. An expression can show any part of the value, and
 * an index or a fingerprint tells it by being found or equal. So those count that were in force before, and those that
 * are written now by whoever may use the value so; a field with any other is dormant until that one is gone, or is written
 * by such a caller.
 * @param next what the patch makes of the attributes.
 * @param isTrusted whether whoever patches may use the value so, or knows it as it becomes.
 */
export function dormantAfter(
  { type, attributes }: Token,
  patch: TokenPatch,
  next: TokenAttributes,
  isTrusted: boolean,
): readonly ExpressionField[] {
  return EXPRESSION_FIELDS.filter((field) => {
    if (patch[field] === undefined) return isDormant(attributes, field);
    const inForce = isDormant(attributes, field) ? [] : expressionsOf(field, type, attributes);
    const good = new Set([...inForce, ...(isTrusted ? expressionsOf(field, type, patch) : [])]);
    return expressionsOf(field, type, next).some((expression) => !good.has(expression));
  });
}

/** Whether expressions are kept without being evaluated: see {@link dormantAfter}. */
export function isDormant({ dormant = [] }: TokenAttributes, field: ExpressionField): boolean {
  return dormant.includes(field);
}

/** Whether a patch leaves nothing of the value before: whoever sends it knows all there is. */
export function replacesValue(current: Json, { data }: TokenPatch): boolean {
  return data !== undefined && isDeepStrictEqual(mergePatch(current, data), mergePatch(null, data));
}

/** The expressions of a field, those of the type where it is cleared or not given. */
function expressionsOf(
  field: ExpressionField,
  type: TokenType,
  given: Pick<TokenPatch, ExpressionField>,
): readonly string[] {
  return expressionsIn(given[field] ?? type[field]);
}

/** Literals tell nothing of the value. */
function expressionsIn(json: Json | readonly string[]): readonly string[] {
  if (typeof json === "string") return isTemplate(json) ? [json] : [];
  if (typeof json !== "object" || json === null) return [];
  return Object.values(json).flatMap((entry) => expressionsIn(entry));
}
