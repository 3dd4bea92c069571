import { ANY_TIME, intersectSpans, type TimeSpan } from "../../base/time-span.js";
import type { TokenSource, TokenTest } from "../../store/token-search.js";
import type { ScopeAlternative } from "../../store/token-selection.js";
import type { Way } from "./alternatives.js";

/** Sources of which any one leads to all tokens of a way, or of a part of a scope. */
export type Choice = readonly TokenSource[];

/** The sources of each way: what must hold for it and has an index. All tokens of its time, where nothing has. */
export function choicesOf(ways: readonly Way[]): Choice[] {
  return ways.map((way) => {
    const holding = [...way.values()].filter(({ isNegated }) => !isNegated).map(({ test }) => test);
    const span = spanOf(holding);
    const sources = holding.flatMap((test) => sourceOf(test, span) ?? []);
    return sources.length > 0 ? sources : [{ of: { kind: "all" }, span }];
  });
}

/** The time in which tokens must have been created to meet all of these tests. */
export function spanOf(tests: readonly TokenTest[]): TimeSpan {
  return tests.flatMap((test) => (test.kind === "created_at" ? [test.span] : [])).reduce(intersectSpans, ANY_TIME);
}

function sourceOf(test: TokenTest, span: TimeSpan): TokenSource | undefined {
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
 * The sources that a scope of the caller consists of, one choice for each of its alternatives; undefined where it is about
 * something else than containers and single tokens.
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
