import { QueryReader, type SearchTerm } from "./query-reader.js";

/** A parsed query. NOT applies to terms only: elsewhere it is moved inwards. */
export type SearchExpression =
  | { readonly kind: "term"; readonly term: SearchTerm; readonly isNegated: boolean }
  | { readonly kind: "all" | "any"; readonly of: readonly SearchExpression[] };

/**
 * Reads a search query (docs/search.md): terms joined by AND, OR and NOT, of which NOT binds closest and OR least, with
 * parentheses. `!` and `-` are NOT, and `a NOT b` is `a AND NOT b`.
 * @returns undefined for an empty query.
 * @throws {Fault} validation_failed naming `query` and the character at which it cannot be read.
 */
export function parseSearchQuery(query: string): SearchExpression | undefined {
  const reader = new QueryReader(query);
  reader.skipBlanks();
  if (reader.isAtEnd) return undefined;
  const expression = anyOf(reader, false);
  if (!reader.isAtEnd) reader.refuse(reader.next === ")" ? "an opening parenthesis before the closing one" : JOINED);
  return expression;
}

const JOINED = "AND, OR or NOT between terms";

function anyOf(reader: QueryReader, isNegated: boolean): SearchExpression {
  const of = [allOf(reader, isNegated)];
  while (reader.takeWord("OR")) of.push(allOf(reader, isNegated));
  return joined(isNegated ? "all" : "any", of);
}

function allOf(reader: QueryReader, isNegated: boolean): SearchExpression {
  const of = [operand(reader, isNegated)];
  while (reader.takeWord("AND") || isNegation(reader)) of.push(operand(reader, isNegated));
  return joined(isNegated ? "any" : "all", of);
}

/** Leaves the reader at the word after the operand. */
function operand(reader: QueryReader, isNegated: boolean): SearchExpression {
  reader.skipBlanks();
  if (takeNegation(reader)) return operand(reader, !isNegated);
  if (!reader.take("(")) {
    const term = reader.term();
    if (!reader.isAtEnd && !/[\s)]/.test(reader.next)) reader.refuse("a blank behind the term");
    reader.skipBlanks();
    return { kind: "term", term, isNegated };
  }
  const { position } = reader;
  const inner = anyOf(reader, isNegated);
  if (!reader.take(")")) {
    if (!reader.isAtEnd) reader.refuse(JOINED);
    reader.refuse("the end of the parentheses that begin", position - 1);
  }
  reader.skipBlanks();
  return inner;
}

function takeNegation(reader: QueryReader): boolean {
  return reader.take("!") || reader.take("-") || reader.takeWord("NOT");
}

function isNegation(reader: QueryReader): boolean {
  return reader.next === "!" || reader.next === "-" || reader.isAtWord("NOT");
}

/** Flat: nested expressions with the same operator become one. */
function joined(kind: "all" | "any", of: readonly SearchExpression[]): SearchExpression {
  const [only, ...others] = of;
  if (only && others.length === 0) return only;
  return { kind, of: of.flatMap((each) => (each.kind === kind ? each.of : [each])) };
}
