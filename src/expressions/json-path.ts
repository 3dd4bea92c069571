import { JSONPathEnvironment, type JSONPathQuery, jsonpath, TokenKind } from "json-p3";
import { LRUCache } from "lru-cache";
import { isJsonObject, type Json } from "../base/json.js";
import type { Budget } from "./budget.js";
import { operandToJson } from "./operand.js";
import { Rejection, unevaluable } from "./rejection.js";

/** Bodies nest at most 64 levels deep. */
const DEEPEST_DATA = 100;

/**
 * A search pays a unit for each step at each node, and a node has at least two characters. No less, because a size
 * above the work limit is not measured exactly: a search has two steps or more, so it is rejected there.
 */
const CHARACTERS_PER_NODE = 2;

/**
 * JSONPath by RFC 9535, which includes Goessner's syntax except script expressions: no part of a path runs as code.
 * Functions are off, because `match` and `search` run the caller's regular expressions.
 */
const environment = new JSONPathEnvironment({ maxRecursionDepth: DEEPEST_DATA });
environment.functionRegister.clear();

interface CompiledPath {
  readonly query: JSONPathQuery;
  /** Steps at each node; null for a path of names and indexes, which goes straight to its value. */
  readonly searchSteps: number | null;
  /** The names and indexes of such a path. */
  readonly steps: readonly (string | number)[];
}

const compiled = new LRUCache<string, CompiledPath>({ max: 1_000 });

/** The one value that `path` selects in `value`, or undefined if it selects nothing. Several values are rejected. */
export function selectOne(value: Json, path: string, budget: Budget): Json | undefined {
  const { query, searchSteps, steps } = compile(path);
  if (searchSteps === null) {
    budget.spend(steps.length);
    return follow(value, steps);
  }
  budget.spend((budget.sizeOf(value) / CHARACTERS_PER_NODE) * searchSteps);
  const found = query.lazyQuery(value);
  const first = found.next();
  if (first.done) return undefined;
  if (!found.next().done) throw unevaluable("the JSON path leads to several values");
  return operandToJson(first.value.value);
}

/** Why `path` fails for any data, to follow "json"; undefined if it does not. */
export function pathProblem(path: string): string | undefined {
  try {
    compile(path);
    return undefined;
  } catch (error) {
    if (error instanceof Rejection) return error.reason.replace(/^could not be evaluated: json /, "");
    throw error;
  }
}

function compile(path: string): CompiledPath {
  const known = compiled.get(path);
  if (known !== undefined) return known;
  const query = parse(path);
  const isSingular = query.singularQuery();
  const steps = isSingular ? query.segments.map(singularStep) : [];
  const entry = { query, searchSteps: isSingular ? null : searchSteps(query), steps };
  compiled.set(path, entry);
  return entry;
}

function singularStep({ selectors: [selector] }: JSONPathQuery["segments"][number]): string | number {
  if (selector instanceof jsonpath.selectors.NameSelector) return selector.name;
  if (selector instanceof jsonpath.selectors.IndexSelector) return selector.index;
  throw new Error("a JSON path to one value has another step than a name or an index");
}

/** A name of an object, or an index of a list, from its end if negative (RFC 9535, 2.3.1 and 2.3.3). */
function follow(value: Json, steps: readonly (string | number)[]): Json | undefined {
  let found: Json | undefined = value;
  for (const step of steps) {
    if (typeof step === "number") found = Array.isArray(found) ? found.at(step) : undefined;
    else found = isJsonObject(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }
  return found === undefined ? undefined : operandToJson(found);
}

/** Longer paths would cost the parser too much time. */
export const MAX_PATH_LENGTH = 1_000;

function parse(path: string): JSONPathQuery {
  if (path.length > MAX_PATH_LENGTH)
    throw unevaluable(`json needs a JSON path of at most ${MAX_PATH_LENGTH} characters`);
  try {
    return environment.compile(path);
  } catch {
    // The parser's message repeats the path, which may come from data.
    throw unevaluable("json needs a JSON path that starts with $");
  }
}

/**
 * Counts the steps of a searching path, and rejects paths that visit a node more than once per step: a second `..`
 * multiplies by the depth of the data, a union such as `[0,0]` doubles at each use.
 */
function searchSteps(query: JSONPathQuery): number {
  let steps = 1;
  let descents = 0;
  for (const segment of query.segments) {
    const [selector, ...others] = segment.selectors;
    if (others.length > 0) throw tooWide();
    if (segment.token.kind === TokenKind.DDOT) descents += 1;
    steps += selector instanceof jsonpath.selectors.FilterSelector ? filterSteps(selector.expression) : 1;
  }
  if (descents > 1) throw tooWide();
  return descents === 0 ? steps : (steps + 1) * DESCENT_FACTOR;
}

/** A descent hands each node up through all levels above it (measured with data 60 levels deep). */
const DESCENT_FACTOR = 4;

/** Running a path inside a filter takes about 1.5 us before its first step. */
const QUERY_STEPS = 4;

function filterSteps(expression: jsonpath.expressions.FilterExpression): number {
  const { LogicalExpression, PrefixExpression, InfixExpression, FilterQuery } = jsonpath.expressions;
  if (expression instanceof LogicalExpression) return filterSteps(expression.expression);
  if (expression instanceof PrefixExpression) return 1 + filterSteps(expression.right);
  if (expression instanceof InfixExpression) return 1 + filterSteps(expression.left) + filterSteps(expression.right);
  if (!(expression instanceof FilterQuery)) return 1;
  if (!expression.path.singularQuery()) throw tooWide();
  return QUERY_STEPS + expression.path.segments.length;
}

function tooWide(): Rejection {
  return new Rejection("must use a JSON path without unions, with at most one .. and with plain paths in its filters");
}
