import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { storedContainer } from "../../../src/access/container.js";
import { ANY_TIME } from "../../../src/base/time-span.js";
import type { TokenTest } from "../../../src/store/tokens/token-search.js";
import { readCondition, type SearchCondition } from "../../../src/tokens/search/conditions.js";
import { type Conjunction, toConjunctions } from "../../../src/tokens/search/conjunctions.js";
import { parseSearchQuery } from "../../../src/tokens/search/parse-query.js";
import { choicesOfScope, requiredSpan, sourceChoices } from "../../../src/tokens/search/sources.js";
import { containerTerm } from "../../../src/tokens/terms.js";
import { faultFields } from "../../expressions/faults.js";
import { newTenantKeys } from "../../support/tenant-keys.js";

const KEYS = newTenantKeys();
const named = (id: string): SearchCondition => ({ kind: "test", test: { kind: "id", id }, isNegated: false });
const not = (id: string): SearchCondition => ({ kind: "test", test: { kind: "id", id }, isNegated: true });
const all = (...of: SearchCondition[]): SearchCondition => ({ kind: "all", of });
const any = (...of: SearchCondition[]): SearchCondition => ({ kind: "any", of });

/** A conjunction as text: `a !b`. */
function shown(conjunction: Conjunction): string {
  return [...conjunction.values()]
    .map(({ test, isNegated }) => `${isNegated ? "!" : ""}${test.kind === "id" ? test.id : test.kind}`)
    .join(" ");
}

describe("the conjunctions of a condition", () => {
  it.each<[string, SearchCondition, readonly string[]]>([
    ["a test alone", named("a"), ["a"]],
    ["a negated test", not("a"), ["!a"]],
    ["AND", all(named("a"), named("b")), ["a b"]],
    ["OR", any(named("a"), named("b")), ["a", "b"]],
    ["AND over OR", all(named("a"), any(named("b"), not("c"))), ["a b", "a !c"]],
    ["OR over AND", any(all(named("a"), named("b")), named("c")), ["a b", "c"]],
    [
      "two alternatives twice",
      all(any(named("a"), named("b")), any(named("c"), named("d"))),
      ["a c", "a d", "b c", "b d"],
    ],
    ["a repeated test", all(named("a"), named("a")), ["a"]],
    ["a contradiction", all(named("a"), not("a")), []],
    ["a contradiction in one alternative", all(named("a"), any(not("a"), named("b"))), ["a b"]],
    ["nothing that must hold", all(), [""]],
    ["nothing that may hold", any(), []],
  ])("are found for %s", (_, condition, expected) => {
    expect(toConjunctions(condition).map(shown)).toEqual(expected);
  });

  it("hold exactly where the condition holds", () => {
    const condition = fc.letrec<{ part: SearchCondition }>((tie) => ({
      part: fc.oneof(
        { depthSize: "small", maxDepth: 3 },
        fc.constantFrom("a", "b", "c", "d").chain((id) => fc.constantFrom(named(id), not(id))),
        fc.array(tie("part"), { maxLength: 3 }).map((of) => all(...of)),
        fc.array(tie("part"), { maxLength: 3 }).map((of) => any(...of)),
      ),
    })).part;
    const holds = (part: SearchCondition, ids: readonly string[]): boolean => {
      if (part.kind === "test") return isTrue(part.test, ids) !== part.isNegated;
      return part.kind === "all" ? part.of.every((each) => holds(each, ids)) : part.of.some((each) => holds(each, ids));
    };
    fc.assert(
      fc.property(condition, fc.subarray(["a", "b", "c", "d"]), (whole, ids) => {
        const isMet = toConjunctions(whole).some((conjunction) =>
          [...conjunction.values()].every(({ test, isNegated }) => isTrue(test, ids) !== isNegated),
        );
        expect(isMet).toBe(holds(whole, ids));
      }),
      { numRuns: 500 },
    );
  });

  it("are at most 64, because each is compared with every token", () => {
    const pairs = (count: number) =>
      all(...Array.from({ length: count }, (_, index) => any(named(`${index}x`), named(`${index}y`))));
    expect(toConjunctions(pairs(6))).toHaveLength(64);
    expect(faultFields(() => toConjunctions(pairs(7)))).toHaveProperty("query");
    const flat = (count: number) => any(...Array.from({ length: count }, (_, index) => named(`${index}`)));
    expect(toConjunctions(flat(64))).toHaveLength(64);
    expect(faultFields(() => toConjunctions(flat(65)))).toHaveProperty("query");
  });
});

function isTrue(test: TokenTest, ids: readonly string[]): boolean {
  return test.kind === "id" && ids.includes(test.id);
}

describe("where a search looks for its tokens", () => {
  const sourcesOf = (query: string) => {
    const expression = parseSearchQuery(query) ?? expect.fail("the query is empty");
    const choices = sourceChoices(toConjunctions(readCondition(KEYS, expression)));
    return choices.map((choice) =>
      choice.map(({ of, span }) => {
        const days = [span.from, span.before].map((time) => time?.toISOString().slice(0, 10) ?? "*");
        return days.join() === "*,*" ? of.kind : `${of.kind} ${days.join(" to ")}`;
      }),
    );
  };

  it.each<[string, string[][]]>([
    ["type:card", [["type"]]],
    ["id:a", [["id"]]],
    ["data:x AND type:card", [["term", "type"]]],
    ["data:x OR type:card", [["term"], ["type"]]],
    ["NOT type:card", [["all"]]],
    ["type:card AND NOT data:x", [["type"]]],
    ["container:/a/", [["term"]]],
    ["container:/", [["all"]]],
    ["container:/*", [["all"]]],
    ["NOT container:/*", []],
    ["modified_at:2026-01-01", [["all"]]],
    ["created_at:2026-01-01", [["all 2026-01-01 to 2026-01-02"]]],
    ["type:card AND created_at:[2026-01-01 TO *]", [["type 2026-01-01 to *"]]],
    ["created_at:[2026-01-01 TO *] AND created_at:{* TO 2026-03-01}", [["all 2026-01-01 to 2026-03-01"]]],
    ["type:card AND NOT created_at:2026-01-01", [["type"]]],
    [
      "(type:card OR data:x) AND created_at:2026-01-01",
      [["type 2026-01-01 to 2026-01-02"], ["term 2026-01-01 to 2026-01-02"]],
    ],
  ])("%s: %j, one choice for each alternative", (query, sources) => {
    expect(sourcesOf(query)).toEqual(sources);
  });

  it("is the whole of time without a condition on it", () => {
    expect(requiredSpan([])).toEqual(ANY_TIME);
    expect(requiredSpan([{ kind: "type", type: "card" }])).toEqual(ANY_TIME);
  });

  it("is the caller's own containers and tokens, unless something else limits what it sees", () => {
    const below = { kind: "below", term: containerTerm(KEYS, storedContainer("/a/")) } as const;
    const one = { kind: "id", text: "x" } as const;
    const kinds = (scope: Parameters<typeof choicesOfScope>[0]) =>
      choicesOfScope(scope)?.map((choice) => choice.map(({ of }) => of.kind));
    expect(kinds([[below], [one]])).toEqual([["term"], ["id"]]);
    expect(kinds([[below, { kind: "container", text: "/a/" }]])).toEqual([["term"]]);
    expect(kinds([[below], [{ kind: "id_prefix", text: "x" }]])).toBeUndefined();
  });
});
