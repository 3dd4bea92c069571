import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/base/json.js";
import { Budget } from "../../src/expressions/budget.js";
import {
  evaluateReference,
  findReferences,
  resolveReferences,
  type TokenView,
} from "../../src/expressions/detokenization.js";
import { faultFields } from "./faults.js";

const card = { number: "4242424242424242", expiration_month: 11, expiration_year: 2025, cvc: "123" };

const tokens: ReadonlyMap<string, TokenView> = new Map(
  Object.entries({
    "815029c2-29ec-4fc2-8cd4-99feb3ee582c": { type: "card", data: card },
    "67d76cd0-bc2a-4a73-be8c-6539c81db465": { type: "card", data: { ...card, expiration_month: 3 } },
    "1d08babf-456a-4bef-993d-aece3c1a2f66": { type: "social_security_number", data: "111-22-3333" },
    "523949a9-e32f-4b5b-a0ad-7a435c79deb4": { type: "token", data: "John" },
    "42af9170-e6ca-4ea7-a43b-730a0b47b6d0": { type: "token", data: "Brown" },
    "4242 4242 4242 1234": { type: "token", data: 7 },
    nested: { type: "token", data: "{{ 523949a9-e32f-4b5b-a0ad-7a435c79deb4 }}" },
    nothing: { type: "token", data: null },
  }).map(([id, { type, data }]): [string, TokenView] => [
    id,
    {
      data,
      token: { id, type, data, metadata: { x: "y" }, enrichments: { bin_details: { card_brand: "VISA" } } },
    },
  ]),
);

const cardId = "815029c2-29ec-4fc2-8cd4-99feb3ee582c";
const resolve = (body: Json) => resolveReferences(body, (id) => tokens.get(id));

describe("the published samples", () => {
  test("primitive data", () => {
    expect(resolve({ ssn: "{{1d08babf-456a-4bef-993d-aece3c1a2f66}}" })).toEqual({ ssn: "111-22-3333" });
  });

  test("complex data, embedded as an object", () => {
    expect(resolve({ card: `{{${cardId}}}`, card_owner_full_name: "John Doe" })).toEqual({
      card,
      card_owner_full_name: "John Doe",
    });
  });

  test("parts of a token keep their types", () => {
    const body = {
      number: `{{${cardId} | json: '$.number'}}`,
      expiration_month: `{{${cardId} | json: '$.expiration_month'}}`,
      expiration_year: `{{ ${cardId} | json: '$.expiration_year' }}`,
      cvc: "987",
    };
    expect(resolve(body)).toEqual({ ...card, cvc: "987" });
  });

  test("several tokens in one text", () => {
    const name = "{{523949a9-e32f-4b5b-a0ad-7a435c79deb4}} {{42af9170-e6ca-4ea7-a43b-730a0b47b6d0}}";
    expect(resolve({ full_name: name })).toEqual({ full_name: "John Brown" });
  });

  test("transformed data", () => {
    const id = "67d76cd0-bc2a-4a73-be8c-6539c81db465";
    const body = {
      month: `{{${id} | json: '$.expiration_month' | pad_left: 2, '0'}}`,
      year: `{{${id} | json: '$.expiration_year' | to_string | slice: -2, 2}}`,
      number: `{{${id} | json: '$.expiration_month' | pad_left: 2, '0' | to_number }}`,
    };
    expect(resolve(body)).toEqual({ month: "03", year: "25", number: 3 });
  });

  test("inside of lists", () => {
    expect(resolve([`{{ ${cardId} }}`, ["{{ 4242 4242 4242 1234 }}"]])).toEqual([card, [7]]);
  });

  test("whole tokens", () => {
    expect(resolve(`{{ token: ${cardId} }}`)).toEqual(tokens.get(cardId)?.token);
    expect(resolve(`{{ token: ${cardId} | json: '$.metadata.x' }}`)).toBe("y");
    expect(resolve(`{{token: ${cardId} | json: '$.enrichments.bin_details.card_brand'}}`)).toBe("VISA");
  });

  test.each([
    [`{{ ${cardId} }}`, `{{ token: ${cardId} | json: '$.data' }}`],
    [`{{ ${cardId} | json: '$.number' }}`, `{{ token: ${cardId} | json: '$.data.number' }}`],
  ])("%s equals %s", (data, token) => {
    expect(resolve(data)).toEqual(resolve(token));
  });
});

describe("what is put in", () => {
  test("is not searched for references again", () => {
    expect(resolve(["{{ nested }}", "a{{ nested }}"])).toEqual([
      "{{ 523949a9-e32f-4b5b-a0ad-7a435c79deb4 }}",
      "a{{ 523949a9-e32f-4b5b-a0ad-7a435c79deb4 }}",
    ]);
  });

  test("is JSON for objects and nothing for null inside a longer text", () => {
    expect(resolve(`card: {{ ${cardId} }}`)).toBe(`card: ${JSON.stringify(card)}`);
    expect(resolve("[{{ nothing }}]")).toBe("[]");
    expect(resolve("{{ nothing }}")).toBeNull();
    expect(resolve("{{ 4242 4242 4242 1234 }}!")).toBe("7!");
  });

  test("leaves everything else unchanged, keys included", () => {
    const body = JSON.parse(`{"{{ ${cardId} }}": "{ {", "__proto__": {"a": "}} x {{"}, "n": [1, null, true, ""]}`);
    const resolved = resolve(body);
    expect(JSON.stringify(resolved)).toBe(JSON.stringify(body));
    expect(Object.getPrototypeOf(resolved)).toBe(Object.prototype);
  });

  test("is requested by the id as written, and a body without expressions requests nothing", () => {
    const asked: string[] = [];
    const lookup = (id: string) => {
      asked.push(id);
      return tokens.get(id);
    };
    resolveReferences({ a: "text", b: 1 }, lookup);
    resolveReferences({ a: `{{ ${cardId} }}${"{{nested | upcase}}"}` }, lookup);
    expect(asked).toEqual([cardId, "nested"]);
  });
});

describe("faults name the place", () => {
  test.each<[Json, string, string]>([
    [{ card: { number: "{{ missing-token }}" } }, "card.number", "must refer to tokens that exist"],
    [[1, { a: "{{ missing-token }}" }], "[1].a", "must refer to tokens that exist"],
    ["{{ missing-token }}", "body", "must refer to tokens that exist"],
    [{ a: ["x", "{{ }}"] }, "a[1]", "must name a token by its id"],
    [{ a: "{{ tokn: abc }}" }, "a", "must not use an unknown prefix"],
    [{ a: "{{ config: KEY }}" }, "a", "must not use the config expression"],
    [{ a: "{{ encrypted | json: '$.x' }}" }, "a", "must not use the encrypted expression"],
    [{ a: `{{ ${cardId} | jsn: '$.x' }}` }, "a", "there is no filter jsn"],
    [{ a: `{{ ${cardId} | json: '$..*' }}` }, "a", "leads to several values"],
    [{ a: `{{ ${cardId}, reveal_last: 4 }}` }, "a", "must refer to tokens that exist"],
    [{ a: `{{ ${cardId} | json '$.number' }}` }, "a", "cannot be read"],
    [{ a: `{{ ${cardId} | stringify | hmac: 'sha-256', 'k' }}` }, "a", "bytes must be encoded"],
  ])("%j", (body, field, message) => {
    expect(faultFields(() => resolve(body))).toEqual({ [field]: [expect.stringContaining(message)] });
  });

  test("with the position of the expression in a longer text", () => {
    const message = "there is no filter jsn (character 6)";
    expect(faultFields(() => resolve({ a: `card {{ ${cardId} | jsn: '$.x' }}` }))).toEqual({
      a: [expect.stringContaining(message)],
    });
    expect(faultFields(() => findReferences(["{{ fine }}, {{ }}"]))).toEqual({
      "[0]": [expect.stringContaining("by its id in each expression: {{ <id> }} or {{ token: <id> }} (character 13)")],
    });
  });

  test("under the root that the caller gives", () => {
    const options = { root: "args" };
    expect(faultFields(() => findReferences({ a: ["{{ }}"] }, options))).toHaveProperty(["args.a[0]"]);
    expect(faultFields(() => findReferences("{{ }}", options))).toHaveProperty(["args"]);
    expect(faultFields(() => resolveReferences({ a: "{{ nope }}" }, () => undefined, options))).toHaveProperty([
      "args.a",
    ]);
  });

  test("with a truncated long key", () => {
    const fields = faultFields(() => findReferences({ ["k".repeat(10_000)]: "{{ }}" }));
    expect(fields).toHaveProperty(["k".repeat(200)]);
  });

  test("without repeating data", () => {
    const fields = faultFields(() => resolve(`{{ ${cardId} | json: '$.number' | to_boolean }}`));
    expect(JSON.stringify(fields)).not.toContain("4242");
  });
});

describe("the references of a body", () => {
  test("are listed once each, with whether the whole token is asked for", () => {
    const body = {
      a: "{{ first | upcase }} and {{ second }}",
      b: ["{{ token: first }}", "{{ second }}", 5, null],
      c: { d: "{{ token: third | json: '$.id' }}", e: "plain" },
    };
    expect(findReferences(body)).toEqual([
      { tokenId: "first", wholeToken: true },
      { tokenId: "second", wholeToken: false },
      { tokenId: "third", wholeToken: true },
    ]);
    expect(findReferences({ a: "none" })).toEqual([]);
  });

  test("may be 2,000, not more", () => {
    const many = (count: number) => Array.from({ length: count }, () => "{{ abc }}");
    expect(findReferences(many(2_000))).toEqual([{ tokenId: "abc", wholeToken: false }]);
    expect(faultFields(() => findReferences(many(2_001)))).toEqual({
      body: ["must hold at most 2000 expressions"],
    });
    expect(resolveReferences(many(2_000), () => ({ data: 1, token: {} }))).toEqual(many(2_000).map(() => 1));
  });

  test("do not multiply a large token without limit", () => {
    const data = "x".repeat(1_000_000);
    const body = Array.from({ length: 1_000 }, () => "{{ abc }}");
    expect(faultFields(() => resolveReferences(body, () => ({ data, token: {} })))).toHaveProperty(["[9]"]);
  });

  test("are those that resolving requests", () => {
    const text = fc
      .array(fc.constantFrom("{{ one }}", "{{token: two}}", "{{ 3-3 | last4 }}", "{{", "}}", "a", " "), {
        maxLength: 8,
      })
      .map((parts) => parts.join(""));
    const body = fc.array(fc.record({ key: text }));
    fc.assert(
      fc.property(body, (value) => {
        const asked = new Set<string>();
        const lookup = (id: string) => {
          asked.add(id);
          return { data: id, token: { id } };
        };
        let listed: string[];
        try {
          listed = findReferences(value).map(({ tokenId }) => tokenId);
        } catch {
          return;
        }
        resolveReferences(value, lookup);
        expect([...asked].sort()).toEqual(listed.sort());
      }),
    );
  });
});

describe("an expression that finds nothing", () => {
  test.each<[Json, string, string]>([
    [{ a: `{{ ${cardId} | json: '$.numbr' }}` }, "a", `{{ ${cardId} | json: '$.numbr' }}`],
    [{ a: `{{token: ${cardId}|json: '$.number'}}` }, "a", `{{ token: ${cardId}|json: '$.number' }}`],
    [{ a: `{{ ${cardId} | json: '$..numbr' }}` }, "a", `{{ ${cardId} | json: '$..numbr' }}`],
    [
      { a: `{{ ${cardId} | json: '$.x' | pad_left: 2, '0' }}` },
      "a",
      `{{ ${cardId} | json: '$.x' | pad_left: 2, '0' }}`,
    ],
    [{ a: `{{ ${cardId} | json: '$.x' | append: 'y' }}` }, "a", `{{ ${cardId} | json: '$.x' | append: 'y' }}`],
    [{ a: `{{ ${cardId} | json: '$.x' | json: '$.y' }}` }, "a", `{{ ${cardId} | json: '$.x' | json: '$.y' }}`],
    [{ a: `{{ ${cardId} | json: '$.x' | default }}` }, "a", `{{ ${cardId} | json: '$.x' | default }}`],
    [{ a: [`{{ nothing | json: '$.x' }}`] }, "a[0]", `{{ nothing | json: '$.x' }}`],
    [`{{ nested | card_exp: 'MM' | default: '' | json: '$.x' }}`, "body", "refused"],
  ])("%j is rejected, and named", (body, field, expression) => {
    const fields = faultFields(() => resolve(body));
    if (expression === "refused") expect(fields).toHaveProperty([field]);
    else expect(fields).toEqual({ [field]: [`expression found nothing: ${expression}`] });
    expect(JSON.stringify(fields)).not.toContain("4242424242424242");
  });

  test("names its position in a longer text, and is truncated if it is long", () => {
    expect(faultFields(() => resolve(`a {{ ${cardId} | json: '$.x' }}`))).toEqual({
      body: [`expression found nothing: {{ ${cardId} | json: '$.x' }} (character 3)`],
    });
    const long = `{{ ${cardId} | json: '$.${"x".repeat(500)}' }}`;
    const [text = ""] = faultFields(() => resolve(long))?.body ?? [];
    expect(text.length).toBeLessThan(250);
  });

  test.each<[string, Json]>([
    [`{{ ${cardId} | json: '$.x' | default: 'none' }}`, "none"],
    [`{{ ${cardId} | json: '$.x' | upcase | default: 'none' }}`, "none"],
    [`{{ ${cardId} | json: '$..x' | default: 7 }}`, 7],
    [`{{ ${cardId} | json: '$.x' | default: '' }}`, ""],
    [`{{ ${cardId} | json: '$.number' | default: 'none' }}`, card.number],
    [`{{ ${cardId} | json: '$.x' | default: 'none' | append: '!' }}`, "none!"],
    [`{{ nothing | default: 'none' }}`, "none"],
    [`<{{ ${cardId} | json: '$.x' | default: '' }}>`, "<>"],
  ])("%s says what replaces it", (body, value) => {
    expect(resolve(body)).toEqual(value);
  });

  test("is not an error if null is the value", () => {
    const lookup = () => ({ data: { a: null, list: [null] }, token: {} });
    expect(resolveReferences("{{ abc | json: '$.a' }}", lookup)).toBeNull();
    expect(resolveReferences("{{ abc | json: '$.list[0]' }}", lookup)).toBeNull();
    expect(resolveReferences("{{ abc | json: '$.list' | first }}", lookup)).toBeNull();
  });
});

test("a single reference can be evaluated on its own", () => {
  const view = { data: card, token: { id: "x", data: card } };
  const source = { expression: "x", locate: () => ({ field: "body", position: undefined }), budget: new Budget() };
  expect(evaluateReference({ form: "data", tokenId: "x", filters: "json: '$.cvc'" }, view, source)).toBe("123");
  expect(evaluateReference({ form: "token", tokenId: "x", filters: null }, view, source)).toEqual(view.token);
});
