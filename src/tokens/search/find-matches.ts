import { invalid } from "../../base/fault.js";
import { type PageRequest, pageOffset } from "../../base/page.js";
import {
  type Alternative,
  countTokensBySource,
  type FoundKeys,
  searchTokenKeys,
  type TokenSource,
} from "../../store/tokens/token-search.js";
import type { ScopeAlternative } from "../../store/tokens/token-selection.js";
import type { Transaction } from "../../store/transactions/transaction.js";
import type { Conjunction } from "./conjunctions.js";
import { type Choice, choicesOfScope, sourceChoices } from "./sources.js";

/**
 * Most look-ups of one search. A look-up reads a token's row or tests one term of it; 100,000 take 0.4 s on two idle cores,
 * and 1.2 s on cores with three times their load. A statement may take 2 s.
 */
const MAX_LOOK_UPS = 100_000;

/**
 * A page of the tokens that meet any of the conjunctions, newest first. Counts the index entries of the terms, then reads
 * every token of the narrowest ones.
 * @throws {Fault} validation_failed naming `query` if there are too many. No token was compared then.
 */
export async function findMatches(
  tx: Transaction,
  conjunctions: readonly Conjunction[],
  scopes: readonly (readonly ScopeAlternative[])[],
  page: PageRequest,
): Promise<FoundKeys> {
  if (conjunctions.length === 0) return { total: 0, keys: [] };
  const { tests, alternatives } = numbered(conjunctions);
  const maxTokens = Math.floor(MAX_LOOK_UPS / (1 + tests.filter(({ kind }) => kind === "term").length));
  const plans = [sourceChoices(conjunctions), ...scopes.flatMap((scope) => [choicesOfScope(scope) ?? []])];
  const sources = await narrowest(
    tx,
    plans.filter(({ length }) => length > 0),
    maxTokens,
  );
  const shown = { offset: pageOffset(page), limit: page.size };
  return tx.query(searchTokenKeys, { sources, maxTokens, tests, alternatives, scopes, ...shown });
}

/**
 * The sources that read the fewest tokens: those of one plan, with one source for each of its choices.
 * @throws {Fault} validation_failed if they read more than `maxTokens`.
 */
async function narrowest(
  tx: Transaction,
  plans: readonly (readonly Choice[])[],
  maxTokens: number,
): Promise<readonly TokenSource[]> {
  const all = plans.flat(2);
  const counts = await tx.query(countTokensBySource, { sources: all, maxTokens: maxTokens + 1 });
  const countOf = new Map(all.map((source, index) => [source, counts[index] ?? 0]));
  const sum = (sources: readonly TokenSource[]) => sources.reduce((n, source) => n + (countOf.get(source) ?? 0), 0);
  const fewest = <T>(items: readonly T[], sourcesIn: (item: T) => readonly TokenSource[]) =>
    items.toSorted((a, b) => sum(sourcesIn(a)) - sum(sourcesIn(b)))[0];
  const chosen = plans.map((choices) => choices.flatMap((choice) => fewest(choice, (source) => [source]) ?? []));
  const best = fewest(chosen, (sources) => sources);
  if (best && sum(best) <= maxTokens) return best;
  throw invalid(
    "query",
    `must be narrower: more than ${maxTokens} tokens would have to be compared. Add a term that few tokens have, or a shorter created_at`,
  );
}

/** The conjunctions as the database compares them: one bit for each test. */
function numbered(conjunctions: readonly Conjunction[]) {
  const tests = new Map(
    conjunctions.flatMap((conjunction) => [...conjunction]).map(([number, { test }]) => [number, test]),
  );
  const testBits = new Map([...tests.keys()].map((number, place) => [number, 1n << BigInt(place)]));
  const alternatives = conjunctions.map((conjunction): Alternative => {
    const bits = [...conjunction].map(([number, { isNegated }]) => ({ bit: testBits.get(number) ?? 0n, isNegated }));
    return {
      asked: bits.reduce((sum, { bit }) => sum | bit, 0n),
      holding: bits.reduce((sum, { bit, isNegated }) => (isNegated ? sum : sum | bit), 0n),
    };
  });
  return { tests: [...tests.values()], alternatives };
}
