import { isDeepStrictEqual } from "node:util";
import type { Json } from "../base/json.js";
import { mergePatch } from "../base/merge-patch.js";
import { isTemplate } from "../expressions/expression.js";
import { EXPRESSION_FIELDS, type ExpressionField, type Token, type TokenAttributes } from "./token.js";
import type { TokenPatch } from "./token-patch.js";
import type { TokenType } from "./types/token-type.js";

/**
 * Chooses the expressions of a patched token that are stored but not evaluated. An expression can show any part of the
 * value, and an index or fingerprint reveals it by a match. So only expressions that were active before, or that a
 * trusted caller writes now, are evaluated. A field with any other expression is inactive until that expression is
 * removed, or a trusted caller writes it.
 * @param next the attributes after the patch.
 * @param isTrusted whether the patch's author may use the value in this way, or knows the whole new value.
 */
export function inactiveAfter(
  { type, attributes }: Token,
  patch: TokenPatch,
  next: TokenAttributes,
  isTrusted: boolean,
): readonly ExpressionField[] {
  return EXPRESSION_FIELDS.filter((field) => {
    if (patch[field] === undefined) return isInactive(attributes, field);
    const inForce = isInactive(attributes, field) ? [] : expressionsOf(field, type, attributes);
    const good = new Set([...inForce, ...(isTrusted ? expressionsOf(field, type, patch) : [])]);
    return expressionsOf(field, type, next).some((expression) => !good.has(expression));
  });
}

/** Whether a field's expressions are stored without being evaluated: see {@link inactiveAfter}. */
export function isInactive({ inactive = [] }: TokenAttributes, field: ExpressionField): boolean {
  return inactive.includes(field);
}

/** Whether a patch replaces the entire value: its author then knows all of it. */
export function replacesValue(current: Json, { data }: TokenPatch): boolean {
  return data !== undefined && isDeepStrictEqual(mergePatch(current, data), mergePatch(null, data));
}

/** The expressions of a field. Default: those of the type. */
function expressionsOf(
  field: ExpressionField,
  type: TokenType,
  given: Pick<TokenPatch, ExpressionField>,
): readonly string[] {
  return expressionsIn(given[field] ?? type[field]);
}

/** Literals reveal nothing about the value. */
function expressionsIn(json: Json | readonly string[]): readonly string[] {
  if (typeof json === "string") return isTemplate(json) ? [json] : [];
  if (typeof json !== "object" || json === null) return [];
  return Object.values(json).flatMap((entry) => expressionsIn(entry));
}
