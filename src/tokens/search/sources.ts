import { ANY_TIME, intersectSpans, type TimeSpan } from "../../base/time-span.js";
import type { TokenSource, TokenTest } from "../../store/tokens/token-search.js";
import type { ScopeAlternative } from "../../store/tokens/token-selection.js";
import type { Conjunction } from "./conjunctions.js";

/** Alternative sources: each one contains all tokens of a conjunction, or of a part of a scope. */
export type Choice = readonly TokenSource[];

/** The sources of each conjunction: its required tests that have an index. If none has one, all tokens of its time span. */
export function sourceChoices(conjunctions: readonly Conjunction[]): Choice[] {
  return conjunctions.map((conjunction) => {
    const holding = [...conjunction.values()].filter(({ isNegated }) => !isNegated).map(({ test }) => test);
    const span = requiredSpan(holding);
    const sources = holding.flatMap((test) => tokenSource(test, span) ?? []);
    return sources.length > 0 ? sources : [{ of: { kind: "all" }, span }];
  });
}

/** The span of creation times that all these tests require. */
export function requiredSpan(tests: readonly TokenTest[]): TimeSpan {
  return tests.flatMap((test) => (test.kind === "created_at" ? [test.span] : [])).reduce(intersectSpans, ANY_TIME);
}

function tokenSource(test: TokenTest, span: TimeSpan): TokenSource | undefined {
  switch (test.kind) {
    case "type":
    case "fingerprint":
    case "term":
    case "id":
      return { of: test, span };
    case "container":
      return test.below && { of: { kind: "term", term: test.below }, span };
    default:
      return undefined;
  }
}

/**
 * The sources of a caller's scope, one choice for each of its alternatives. Undefined if the scope concerns anything
 * other than containers and single tokens.
 */
export function choicesOfScope(scope: readonly ScopeAlternative[]): Choice[] | undefined {
  const choices = scope.map((alternative) =>
    alternative.flatMap((required): TokenSource[] => {
      if (required.kind === "id") return [{ of: { kind: "id", id: required.text }, span: ANY_TIME }];
      return required.kind === "below" ? [{ of: { kind: "term", term: required.term }, span: ANY_TIME }] : [];
    }),
  );
  return choices.every(({ length }) => length > 0) ? choices : undefined;
}
