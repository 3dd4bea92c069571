import { type FilterImplOptions, Liquid, Token, Tokenizer, TypeGuards, toValueSync, Value } from "liquidjs";
import { aliasingFilters } from "./filters/aliasing.js";
import { misuse, type WrittenArgument } from "./filters/argument-forms.js";
import { FilterArguments } from "./filters/arguments.js";
import { cardFilters } from "./filters/card.js";
import { castingFilters } from "./filters/casting.js";
import { encodingFilters } from "./filters/encoding.js";
import type { Filter } from "./filters/filter.js";
import { jsonFilters } from "./filters/json.js";
import { maskingFilters } from "./filters/masking.js";
import { paddingFilters } from "./filters/padding.js";
import { cheapFilters, sortingFilters, standardFilters } from "./filters/standard.js";
import { type Operand, toOperand } from "./operand.js";
import { evaluatePlain, type PlainValue, plainValue } from "./plain-value.js";
import { FOUND_NOTHING, MisusedFilter, malformedExpression, Rejection, unevaluable } from "./rejection.js";
import { type Evaluation, Scope } from "./scope.js";

type EngineFilter = Extract<FilterImplOptions, (...args: never[]) => unknown>;

/** Characters that the engine's own filters may write in one expression; our budget bounds only their input. */
const MEMORY_LIMIT = 2_000_000;

const ours = {
  ...aliasingFilters,
  ...cardFilters,
  ...castingFilters,
  ...encodingFilters,
  ...jsonFilters,
  ...maskingFilters,
  ...paddingFilters,
};

const liquid = makeEngine();

export interface ParsedValue {
  readonly value: Value;
  /** The same, if it is no more than a path. */
  readonly plain: PlainValue | undefined;
  /** A filter whose arguments fail for any data. The value can be evaluated all the same, and fails there. */
  readonly misused: MisusedFilter | undefined;
}

/**
 * Parses the text between `{{` and `}}`: one value and its filters. Stricter than the engine, which skips what it
 * cannot parse: a mask with a comma in place of `|` would show the whole value.
 */
export function parseValue(text: string): ParsedValue {
  const tokenizer = new Tokenizer(text, liquid.options.operators);
  const token = tokenizer.readFilteredValue();
  tokenizer.skipBlank();
  const [initial, ...others] = token.initial.postfix;
  if (!tokenizer.end() || initial === undefined || others.length > 0)
    throw malformedExpression("expected one value and its filters");
  if (text.trimEnd().endsWith("|")) throw malformedExpression("expected the name of a filter after |");
  requireKnownForm(initial);
  let misused: MisusedFilter | undefined;
  for (const { name, args, begin } of token.filters) {
    for (const argument of args) requireKnownForm(Array.isArray(argument) ? argument[1] : argument);
    if (!Object.hasOwn(liquid.filters, name)) throw new MisusedFilter(`there is no filter ${name.slice(0, 40)}`, begin);
    const problem = misuse(name, args.map(writtenArgument));
    if (problem !== undefined) misused ??= new MisusedFilter(problem, begin);
  }
  return { value: new Value(token, liquid), plain: plainValue(initial, token.filters), misused };
}

/** @param argument in the engine's form: a named argument is a pair of its name and value. */
function writtenArgument(argument: Token | readonly [name?: string, value?: Token]): WrittenArgument {
  const [name, token] = argument instanceof Token ? [undefined, argument] : argument;
  const isLiteral = TypeGuards.isQuotedToken(token) || TypeGuards.isNumberToken(token);
  return { name, value: isLiteral ? token.content : undefined };
}

/** @throws {Rejection} */
export function evaluateValue({ value, plain }: ParsedValue, evaluation: Evaluation): Operand {
  const { bindings, budget, mustFind, draw } = evaluation;
  if (plain) return evaluatePlain(plain, evaluation);
  const scope = new Scope(liquid, bindings, budget, draw);
  const result: unknown = toValueSync(value.value(scope));
  if (mustFind && (scope.foundNothing || result === undefined)) throw new Rejection(FOUND_NOTHING);
  return toOperand(result);
}

export function filterNames(): string[] {
  return Object.keys(liquid.filters).sort();
}

/**
 * Removes all tags: no documented expression uses one, and they bring files, loops and assignments. Removes operators
 * too: standard Liquid has them in tags only, and comparing lists is not metered.
 */
function makeEngine(): Liquid {
  const engine = new Liquid({
    templates: {},
    operators: {},
    ownPropertyOnly: true,
    strictFilters: true,
    memoryLimit: MEMORY_LIMIT,
    timezoneOffset: 0,
    locale: "en-US",
  });
  for (const name of Object.keys(engine.tags)) delete engine.tags[name];
  for (const [name, filter] of Object.entries(engine.filters)) {
    engine.unregisterFilter(name);
    if (standardFilters.has(name) && typeof filter === "function") engine.registerFilter(name, metered(name, filter));
  }
  for (const [name, filter] of Object.entries(ours)) engine.registerFilter(name, adapted(name, filter));
  return engine;
}

function metered(name: string, filter: EngineFilter): EngineFilter {
  return function (input: unknown, ...args: unknown[]) {
    const scope = scopeOf(this.context);
    const { budget } = scope;
    if ([input, ...args].some((operand) => operand instanceof Uint8Array)) {
      throw unevaluable("bytes must be encoded by to_base16 or to_base64");
    }
    if (!cheapFilters.has(name)) {
      const size = [input, ...args].reduce<number>((sum, operand) => sum + budget.sizeOf(operand), 0);
      budget.spend(sortingFilters.has(name) ? size * Math.ceil(Math.log2(size)) : size);
    }
    if (name === "default" && args.length > 0 && isReplacedByDefault(input)) scope.foundNothing = false;
    return filter.call(this, input, ...args);
  };
}

/** Whether `default` returns its argument for this input. */
function isReplacedByDefault(input: unknown): boolean {
  const operand = toOperand(input);
  return operand === null || operand === false || operand === "" || (Array.isArray(operand) && operand.length === 0);
}

/** Filters that read whole objects and meter that themselves. */
const meteringThemselves: ReadonlySet<string> = new Set(["json", "json_stringify", "stringify", "card_exp"]);

/** Our filters split texts into code points, at about 60 ns each. */
const UNITS_PER_CHARACTER = 2;

function adapted(name: string, filter: Filter): EngineFilter {
  return function (input: unknown, ...args: unknown[]) {
    const scope = scopeOf(this.context);
    const { budget } = scope;
    const operand = toOperand(input);
    budget.spend(meteringThemselves.has(name) ? 1 : budget.sizeOf(operand) * UNITS_PER_CHARACTER);
    const result = filter(operand, new FilterArguments(name, args), budget, scope.draw);
    if (result === undefined) scope.foundNothing = true;
    return result ?? null;
  };
}

function scopeOf(context: unknown): Scope {
  if (context instanceof Scope) return context;
  throw new TypeError("a filter was run outside of a scope");
}

/**
 * Rejects ranges, which standard Liquid has in tags only and which make large lists from a few characters, and junk in
 * brackets: the engine skips to the `]`, ignoring for example a filter before it.
 */
function requireKnownForm(token: Token | undefined): void {
  if (TypeGuards.isRangeToken(token)) throw malformedExpression("ranges are not supported");
  if (!TypeGuards.isPropertyAccessToken(token)) return;
  requireKnownForm(token.variable);
  for (const property of token.props) {
    const inBrackets = token.input.slice(token.begin, property.begin).trimEnd().endsWith("[");
    if (inBrackets && !token.input.slice(property.end).trimStart().startsWith("]")) {
      throw malformedExpression("expected ] after a property");
    }
    requireKnownForm(property);
  }
}
