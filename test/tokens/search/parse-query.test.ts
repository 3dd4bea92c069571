import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../../src/base/fault.js";
import { parseSearchQuery, type SearchExpression } from "../../../src/tokens/search/parse-query.js";

/** An expression as text with all of its parentheses, values in quotes. */
function shown(expression: SearchExpression | undefined): string {
  if (!expression) return "everything";
  if (expression.kind !== "term")
    return `(${expression.of.map(shown).join(expression.kind === "all" ? " AND " : " OR ")})`;
  const { field, key, value } = expression.term;
  const end = (one: { text: string } | undefined) => one?.text ?? "*";
  const text =
    value.kind === "text"
      ? JSON.stringify(value.text)
      : `${value.from?.isInclusive === false ? "{" : "["}${end(value.from)} TO ${end(value.to)}${value.to?.isInclusive === false ? "}" : "]"}`;
  return `${expression.isNegated ? "NOT " : ""}${field}${key === undefined ? "" : `.${key}`}:${text}`;
}

function faultOf(query: string): string {
  try {
    parseSearchQuery(query);
  } catch (error) {
    if (error instanceof Fault) return error.fields?.query?.[0] ?? "another field";
    throw error;
  }
  throw new Error(`${query} was read`);
}

describe("a search query", () => {
  it.each([
    ["", "everything"],
    ["  \n", "everything"],
    ["type:card", 'type:"card"'],
    [" type:card ", 'type:"card"'],
    ['data:"several words"', 'data:"several words"'],
    ["data:123-45-6789", 'data:"123-45-6789"'],
    ["data:a:b", 'data:"a:b"'],
    ['data:"a\\"b\\\\c"', 'data:"a\\"b\\\\c"'],
    ["data:a\\ b\\)", 'data:"a b)"'],
    ["metadata.user_id:1234", 'metadata.user_id:"1234"'],
    ["metadata.a.b:c", 'metadata.a.b:"c"'],
    ['metadata."a b:c":d', 'metadata.a b:c:"d"'],
    ["metadata.a\\:b:c", 'metadata.a:b:"c"'],
    ['container:"/customer-123/*"', 'container:"/customer-123/*"'],
    ["created_at:[2021-01-01 TO 2021-12-31T23:59:59Z]", "created_at:[2021-01-01 TO 2021-12-31T23:59:59Z]"],
    ["created_at:{* TO 2022-01-01}", "created_at:[* TO 2022-01-01}"],
    ['created_at:[ "2021-01-01"  TO  * ]', "created_at:[2021-01-01 TO *]"],
    ["created_at:{2021-01-01 TO 2022-01-01]", "created_at:{2021-01-01 TO 2022-01-01]"],
    ["a:1 AND b:2 AND c:3", '(a:"1" AND b:"2" AND c:"3")'],
    ["a:1 OR b:2 AND c:3 OR d:4", '(a:"1" OR (b:"2" AND c:"3") OR d:"4")'],
    ["(a:1 OR b:2) AND c:3", '((a:"1" OR b:"2") AND c:"3")'],
    ["NOT a:1", 'NOT a:"1"'],
    ["!a:1", 'NOT a:"1"'],
    ["-a:1", 'NOT a:"1"'],
    ["- a:1", 'NOT a:"1"'],
    ["a:1 NOT b:2", '(a:"1" AND NOT b:"2")'],
    ["a:1 -b:2 !c:3", '(a:"1" AND NOT b:"2" AND NOT c:"3")'],
    ["a:1 OR b:2 NOT c:3", '(a:"1" OR (b:"2" AND NOT c:"3"))'],
    ["NOT(a:1 AND b:2)", '(NOT a:"1" OR NOT b:"2")'],
    ["!(a:1 OR -b:2)", '(NOT a:"1" AND b:"2")'],
    ["NOT NOT !a:1", 'NOT a:"1"'],
    ["((a:1))", 'a:"1"'],
    ["a:1 AND (b:2 AND c:3)", '(a:"1" AND b:"2" AND c:"3")'],
    ["a:AND OR b:OR", '(a:"AND" OR b:"OR")'],
    ["a:-1", 'a:"-1"'],
    [
      "(type:social_security_number AND !metadata.user_id:1234) OR data:111-11-1111",
      '((type:"social_security_number" AND NOT metadata.user_id:"1234") OR data:"111-11-1111")',
    ],
  ])("%j is %s", (query, expected) => {
    expect(shown(parseSearchQuery(query))).toBe(expected);
  });

  it.each([
    ["card", "a colon behind card at character 5"],
    ["type", "a colon behind type at character 5"],
    ["type:", "a value for type, in quotes where it has blanks or parentheses at character 6"],
    ["type: card", "a value for type, in quotes where it has blanks or parentheses at character 6"],
    [":x", 'a term such as type:card or data:"a value" at character 1'],
    ['data:"', "the end of the quotes that begin at character 6"],
    ['data:""', "a value for data, in quotes where it has blanks or parentheses at character 6"],
    ["data:x\\", "a character behind the backslash at character 8"],
    ["type:card type:bank", "AND, OR or NOT between terms at character 11"],
    ["type:card and type:bank", "AND, OR or NOT between terms at character 11"],
    ["type:card (type:bank)", "AND, OR or NOT between terms at character 11"],
    ['data:"a"x', "a blank behind the term at character 9"],
    ["type:card AND", 'a term such as type:card or data:"a value" at character 14'],
    ["AND type:card", "a colon behind AND at character 4"],
    ["type:card AND AND type:bank", "a colon behind AND at character 18"],
    ["(type:card", "the end of the parentheses that begin at character 1"],
    ["type:card)", "an opening parenthesis before the closing one at character 10"],
    ["()", 'a term such as type:card or data:"a value" at character 2'],
    ["NOT", 'a term such as type:card or data:"a value" at character 4'],
    ["metadata:x", "the name of the metadata, as metadata.name:value at character 1"],
    ["metadata.:x", "the name of the metadata at character 10"],
    ["data.x:y", "a colon behind data: only metadata has names at character 5"],
    ["created_at:[2021 2022]", "TO between the ends of the range at character 18"],
    ["created_at:[2021 TO", "a date, or * for none at character 20"],
    ["created_at:[2021 TO 2022", "the end of the range, ] or } at character 25"],
    ["created_at:[TO 2022]", "TO between the ends of the range at character 16"],
  ])("%j lacks %s", (query, expected) => {
    expect(faultOf(query)).toBe(`must have ${expected}`);
  });

  it("is parsed or rejected whatever its characters, and never takes long", () => {
    const piece = fc.constantFrom(
      ...[
        "type:card",
        "data:x",
        "AND",
        "OR",
        "NOT",
        "!",
        "-",
        "(",
        ")",
        '"',
        "\\",
        " ",
        ":",
        ".",
        "[",
        "]",
        "{",
        "}",
        "TO",
        "*",
      ],
      ...["metadata.a:b", "created_at:[2021-01-01 TO *]", "\0", "é", "\u{1F40B}"],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.constantFrom("", " "), (pieces, between) => {
        const query = pieces.join(between);
        try {
          parseSearchQuery(query);
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
          const [, at] = /^must have .* at character (\d+)$/s.exec(faultOf(query)) ?? [];
          expect(Number(at)).toBeGreaterThan(0);
          expect(Number(at)).toBeLessThanOrEqual(query.length + 1);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("with the maximum nesting is parsed", () => {
    for (const length of [200, 1_000]) {
      const depth = Math.floor((length - 5) / 2);
      expect(shown(parseSearchQuery(`${"(".repeat(depth)}a:1${")".repeat(depth)}`))).toBe('a:"1"');
      expect(shown(parseSearchQuery(`${"!".repeat(length - 3)}a:1`))).toBe(`${length % 2 === 0 ? "NOT " : ""}a:"1"`);
    }
  });
});
