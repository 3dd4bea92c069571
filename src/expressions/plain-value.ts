import { type Token, type Tokenizer, TypeGuards } from "liquidjs";
import { selectOne } from "./json-path.js";
import { type Operand, operandToJson, toOperand } from "./operand.js";
import { FOUND_NOTHING, Rejection } from "./rejection.js";
import { type Evaluation, readProperty } from "./scope.js";

/**
 * A value that is a path of names, with at most a JSON path behind it: `data.number`, `data | json: "$.number"`. Most
 * references are: the engine takes 6 KB of memory for each, and this none.
 */
export interface PlainValue {
  readonly names: readonly string[];
  readonly jsonPath: string | undefined;
}

type FilterToken = ReturnType<Tokenizer["readFilteredValue"]>["filters"][number];

/** Undefined for values that only the engine can evaluate. */
export function plainValue(initial: Token, filters: readonly FilterToken[]): PlainValue | undefined {
  if (!TypeGuards.isPropertyAccessToken(initial) || initial.variable !== undefined) return undefined;
  const names = initial.props.map(literalText);
  const [filter, ...others] = filters;
  const jsonPath = filter && jsonPathOf(filter);
  const isPlain = others.length === 0 && (filter === undefined || jsonPath !== undefined);
  return isPlain && names.every((name) => name !== undefined) ? { names, jsonPath } : undefined;
}

function literalText(token: Token): string | undefined {
  return TypeGuards.isWordToken(token) || TypeGuards.isQuotedToken(token) ? token.content : undefined;
}

function jsonPathOf({ name, args }: FilterToken): string | undefined {
  const [path, ...others] = args;
  if (name !== "json" || path === undefined || Array.isArray(path) || others.length > 0) return undefined;
  return TypeGuards.isQuotedToken(path) ? path.content : undefined;
}

/** Pays for it as the engine does. @throws {Rejection} */
export function evaluatePlain({ names, jsonPath }: PlainValue, { bindings, budget, mustFind }: Evaluation): Operand {
  let found: unknown = bindings;
  for (const name of names) found = readProperty(found, name, budget);
  if (jsonPath !== undefined) {
    const operand = toOperand(found);
    budget.spend(1);
    found = selectOne(operandToJson(operand), jsonPath, budget);
  }
  if (mustFind && found === undefined) throw new Rejection(FOUND_NOTHING);
  return toOperand(found);
}
