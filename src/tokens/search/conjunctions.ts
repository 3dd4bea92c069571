import { invalid } from "../../base/fault.js";
import type { TokenTest } from "../../store/tokens/token-search.js";
import type { SearchCondition } from "./conditions.js";

/** One way to meet a condition: each test, by its number, must hold or must not hold. */
export type Conjunction = ReadonlyMap<number, Literal>;

export interface Literal {
  readonly test: TokenTest;
  readonly isNegated: boolean;
}

/** Each conjunction is compared with every token examined, and a query of 200 characters could expand to 2,000. */
const MAX_CONJUNCTIONS = 64;

/**
 * A condition in disjunctive form: any of the conjunctions meets it. Contradictory conjunctions are left out.
 * @throws {Fault} validation_failed naming `query` if there are too many.
 */
export function toConjunctions(condition: SearchCondition): readonly Conjunction[] {
  const tests: TokenTest[] = [];
  const conjunctionsOf = (part: SearchCondition): Conjunction[] => {
    if (part.kind === "test") return [new Map([[testNumber(tests, part.test), part]])];
    if (part.kind === "any") return limited(part.of.flatMap(conjunctionsOf));
    return part.of
      .map(conjunctionsOf)
      .reduce<Conjunction[]>(
        (conjunctions, more) =>
          limited(conjunctions.flatMap((conjunction) => more.flatMap((other) => merged(conjunction, other) ?? []))),
        [new Map()],
      );
  };
  return conjunctionsOf(condition);
}

function testNumber(tests: TokenTest[], test: TokenTest): number {
  const known = tests.findIndex((other) => isSame(other, test));
  return known >= 0 ? known : tests.push(test) - 1;
}

function isSame(one: TokenTest, other: TokenTest): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Undefined if the two contradict each other. */
function merged(one: Conjunction, other: Conjunction): Conjunction | undefined {
  const both = new Map(one);
  for (const [number, literal] of other) {
    if ((both.get(number) ?? literal).isNegated !== literal.isNegated) return undefined;
    both.set(number, literal);
  }
  return both;
}

function limited(conjunctions: Conjunction[]): Conjunction[] {
  if (conjunctions.length <= MAX_CONJUNCTIONS) return conjunctions;
  throw invalid(
    "query",
    `must be simpler: with AND, OR and NOT multiplied out it has more than ${MAX_CONJUNCTIONS} alternatives`,
  );
}
