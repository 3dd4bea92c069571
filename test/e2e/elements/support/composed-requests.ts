import fc from "fast-check";
import type { Json } from "../../../../src/base/json.js";
import { filterNames } from "../../../../src/expressions/engine.js";

/*
 * Requests that a hostile page composes: bodies of any shape, with the values of hosted fields in any place that the frame
 * puts them, and every field, filter and argument around them.
 */

/** A place of a body that the frame fills in. */
export interface Placeholder {
  readonly $element: "number" | "cvc" | "month" | "card";
}

/** What one step of a page does. */
export interface Step {
  /** Its frame, another frame, or the page itself, with the public key alone. */
  readonly by: "frame" | "other_frame" | "page";
  readonly path: "/tokens" | "/tokenize" | "/sessions" | "/tokens/search";
  readonly body: unknown;
  /** Steps of a run share a few idempotency keys. */
  readonly idempotencyKey: number | undefined;
}

const FILTERS = filterNames();
const digit = fc.integer({ min: 0, max: 40 }).map(String);
const text = fc.constantFrom(
  "'3'",
  "'zzzz'",
  "','",
  "'-'",
  "'%s'",
  "'sha256'",
  "'data.number'",
  "'$.number'",
  "true",
  "false",
);
const argument = fc.oneof(digit, text, fc.constantFrom("data.cvc", "data.number", "data", "metadata.a"));
const filter = fc
  .tuple(fc.constantFrom(...FILTERS, "nope"), fc.array(argument, { maxLength: 3 }))
  .map(([name, given]) => (given.length > 0 ? `${name}: ${given.join(", ")}` : name));
const root = fc.constantFrom("data", "data.number", "data.cvc", "data.n", "data.a[0]", "metadata.a", "'x'");
const expression = fc
  .tuple(root, fc.array(filter, { maxLength: 4 }))
  .map(([start, filters]) => `{{ ${[start, ...filters].join(" | ")} }}`);
const writing = fc.oneof(
  { weight: 6, arbitrary: expression },
  { weight: 1, arbitrary: fc.tuple(expression, expression).map(([one, other]) => `${one}-${other}`) },
  { weight: 1, arbitrary: fc.constantFrom("plain", "", "{{", "{% if data %}") },
);

const placeholder: fc.Arbitrary<unknown> = fc
  .constantFrom<Placeholder["$element"]>("number", "number", "number", "cvc", "month", "card")
  .map(($element) => ({ $element }));
const leaf = fc.oneof({ weight: 3, arbitrary: placeholder }, fc.constantFrom<unknown>("x", 7, true, null));
const keys = fc.constantFrom(
  "number",
  "n",
  "a",
  "cvc",
  "code",
  "data",
  "type",
  "_extras",
  "expiration_month",
  "account_number",
  "routing_number",
);

function composite(depth: number): fc.Arbitrary<unknown> {
  if (depth === 0) return leaf;
  const inner = composite(depth - 1);
  return fc.oneof(leaf, fc.dictionary(keys, inner, { maxKeys: 3 }), fc.array(inner, { maxLength: 3 }));
}

const card = fc.record(
  {
    number: placeholder,
    cvc: placeholder,
    expiration_month: fc.constant({ $element: "month" }),
    expiration_year: fc.constant(2031),
  },
  { requiredKeys: ["number"] },
);
const types = fc.constantFrom(
  ...["token", "token", "card", "card", "card_number", "bank", "us_bank_account_number", "us_bank_routing_number"],
  ...["social_security_number", "employer_id_number", "cardd"],
);
const data = fc.oneof(card, card, placeholder, composite(2));

/** Fields beside type and data, of which most requests have few: each one that is refused hides what others would show. */
const others = fc.oneof(
  { weight: 3, arbitrary: fc.record({ template: fc.constantFrom("masked", "named", "indexed", "short", "none") }) },
  {
    weight: 3,
    arbitrary: fc.record({ metadata: fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("", "1", "x")) }),
  },
  { weight: 1, arbitrary: fc.record({ id: writing }) },
  { weight: 1, arbitrary: fc.record({ mask: fc.oneof(writing, fc.dictionary(keys, writing, { maxKeys: 2 })) }) },
  { weight: 1, arbitrary: fc.record({ search_indexes: fc.array(writing, { minLength: 1, maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ fingerprint_expression: writing }) },
  { weight: 1, arbitrary: fc.record({ deduplicate_token: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ containers: fc.array(fc.constantFrom("/a/", "/pci/high/", "x"), { maxLength: 2 }) }),
  },
  { weight: 1, arbitrary: fc.record({ expires_at: fc.constantFrom("2099-01-01T00:00:00Z", "never") }) },
  { weight: 1, arbitrary: fc.record({ template: writing, tenplate: fc.constant("masked"), privacy: fc.constant({}) }) },
);
const token = fc
  .tuple(types, data, fc.array(others, { maxLength: 2 }))
  .map(([type, value, more]) => Object.assign({ type, data: value }, ...more));

export const tokenizeBody = fc.oneof(
  { weight: 4, arbitrary: token },
  { weight: 1, arbitrary: fc.dictionary(keys, token, { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.array(fc.oneof(token, composite(2)), { maxLength: 3 }) },
  { weight: 1, arbitrary: composite(3) },
);

export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: stepOf("/tokenize", tokenizeBody) },
    { weight: 3, arbitrary: stepOf("/tokens", token) },
    { weight: 1, arbitrary: stepOf("/sessions", fc.constant({})) },
    { weight: 1, arbitrary: stepOf("/tokens/search", fc.constant({ query: "type:card" })) },
  ),
  { minLength: 1, maxLength: 4 },
);

function stepOf(path: Step["path"], body: fc.Arbitrary<unknown>): fc.Arbitrary<Step> {
  return fc.record({
    by: fc.constantFrom<Step["by"]>("frame", "frame", "frame", "frame", "other_frame", "page"),
    path: fc.constant(path),
    body,
    idempotencyKey: fc.option(fc.integer({ min: 0, max: 1 }), { nil: undefined }),
  });
}

/** The values of a group of hosted fields. */
export interface TypedValues {
  readonly number: string;
  readonly cvc: string;
}

/** Fills placeholders in, as the frame's script does: of a token only in its data. */
export function filled(body: unknown, values: TypedValues): Json {
  if (Array.isArray(body)) return body.map((item) => filled(item, values));
  if (typeof body !== "object" || body === null) return plain(body);
  const fields = Object.entries(body);
  const element = fields.find(([name]) => name === "$element")?.[1];
  if (element !== undefined) return typedInto(element, values);
  const isToken = "type" in body && "data" in body;
  return Object.fromEntries(
    fields.map(([name, item]) => [name, isToken && name !== "data" ? plain(item) : filled(item, values)]),
  );
}

function typedInto(element: unknown, { number, cvc }: TypedValues): Json {
  if (element === "card") return { number, cvc, expiration_month: 7, expiration_year: 2031 };
  if (element === "month") return 7;
  return element === "cvc" ? cvc : number;
}

function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value));
}
