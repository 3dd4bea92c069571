import { invalid } from "../../base/fault.js";
import type { TokenTest } from "../../store/token-search.js";
import type { SearchCondition } from "./conditions.js";

/** One way to meet a condition: each test, by its number, must hold or must not hold. */
export type Way = ReadonlyMap<number, Literal>;

export interface Literal {
  readonly test: TokenTest;
  readonly isNegated: boolean;
}

/** Each way is compared with every token examined, and a query of 200 characters could expand to 2,000. */
const MOST_WAYS = 64;

/**
 * A condition in disjunctive form: any of the ways meets it. Contradictory ways are left out.
 * @throws {Fault} validation_failed naming `query` if there are too many.
 */
export function waysToMeet(condition: SearchCondition): readonly Way[] {
  const tests: TokenTest[] = [];
  const waysOf = (part: SearchCondition): Way[] => {
    if (part.kind === "test") return [new Map([[numberOf(tests, part.test), part]])];
    if (part.kind === "any") return limited(part.of.flatMap(waysOf));
    return part.of
      .map(waysOf)
      .reduce<Way[]>(
        (ways, more) => limited(ways.flatMap((way) => more.flatMap((other) => merged(way, other) ?? []))),
        [new Map()],
      );
  };
  return waysOf(condition);
}

function numberOf(tests: TokenTest[], test: TokenTest): number {
  const known = tests.findIndex((other) => isSame(other, test));
  return known >= 0 ? known : tests.push(test) - 1;
}

function isSame(one: TokenTest, other: TokenTest): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Undefined if the two contradict each other. */
function merged(one: Way, other: Way): Way | undefined {
  const both = new Map(one);
  for (const [number, literal] of other) {
    if ((both.get(number) ?? literal).isNegated !== literal.isNegated) return undefined;
    both.set(number, literal);
  }
  return both;
}

function limited(ways: Way[]): Way[] {
  if (ways.length <= MOST_WAYS) return ways;
  throw invalid(
    "query",
    `must be simpler: with AND, OR and NOT multiplied out it has more than ${MOST_WAYS} alternatives`,
  );
}
