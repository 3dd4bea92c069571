import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/base/json.js";
import type { RestClient } from "../../support/rest.js";
import { openStored, type Stored, type StoredCounts } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };
const RIGHT: JsonObject = {
  type: "card",
  data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" },
  mask: { number: "{{ data.number | reveal_last: 4 }}" },
  containers: ["/fuzz/"],
  metadata: { name: "value" },
  search_indexes: ["{{ data.number | last4 }}"],
  fingerprint_expression: "{{ data.number }}",
  deduplicate_token: false,
  expires_at: "2040-01-01T00:00:00Z",
};

const nasty = fc.constantFrom(
  ...["", " ", "\0", "a\0b", "\ud800", "\u202e", "𝒳".repeat(50), "'; drop table tokens; --", "../../etc/passwd"],
  ...["{{", "}}", "{{ }}", "{{ data", "{{ data.number | nothing }}", "{% for i in (1..9) %}{{ i }}{% endfor %}"],
  ...["{{ data | json: '$..' }}", "{{ data.__proto__.constructor }}", "{% include 'x' %}", "{{ data | append: data }}"],
  ...[
    "__proto__",
    "constructor",
    "null",
    "true",
    "0",
    "-1",
    "1e400",
    "NaN",
    "2030-02-30",
    "13/45/2030",
    "/",
    "//",
    "/a",
  ],
  ...["x".repeat(400), "x".repeat(401), "x".repeat(5_000)],
);
const text = fc.oneof(nasty, fc.string({ unit: "binary", maxLength: 60 }), fc.string({ maxLength: 20 }));
const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(-0, 2 ** 53),
);
const scalar = fc.oneof(text, number, fc.boolean(), fc.constant(null));
const name = fc.oneof(
  nasty,
  fc.constantFrom("number", "cvc", "type", "data", "expiration_month"),
  fc.string({ maxLength: 8 }),
);
const anything = fc.oneof(
  { weight: 3, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.dictionary(name, fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxKeys: 4 }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 20, max: 80 }).map((depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth))),
  },
);
const texts = fc.oneof(fc.array(text, { maxLength: 3 }), fc.constant(Array(60).fill("/x/")), anything);

/** Values for each field: values of its type that are mostly wrong, and values of every other type. */
const FIELDS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  id: fc.oneof(text, anything),
  type: fc.oneof(
    fc.constantFrom("token", "bank", "card_number", "social_security_number", "us_bank_routing_number"),
    anything,
  ),
  data: fc.oneof(
    anything,
    fc.record({ number: scalar, cvc: scalar, expiration_month: scalar, expiration_year: scalar }),
  ),
  mask: anything,
  containers: texts,
  metadata: fc.oneof(fc.dictionary(name, scalar, { maxKeys: 4 }), anything),
  search_indexes: texts,
  fingerprint_expression: fc.oneof(text, anything),
  deduplicate_token: fc.oneof(fc.boolean(), anything),
  expires_at: fc.oneof(
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    text,
    anything,
  ),
};

const total = (counts: StoredCounts) => ({ tokens: counts.tokens, cvc: counts.token_cvc, logs: counts.audit_logs });

describe("a body with any value in any field", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  /** Sees masks, as responses of writes show them. */
  let clerk: RestClient;
  let stored: Stored;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    clerk = await tenant.application({ type: "private", permissions: ["token:read"] });
    stored = await openStored();
  });
  afterAll(async () => {
    await stored?.[Symbol.asyncDispose]();
  });
  const settings = { numRuns: 40, endOnFailure: true };

  /** A rejection is the caller's fault, and names the field. */
  function expectRefusal({ status, body }: { status: number; body: { errors?: object; code?: string } }) {
    expect([400, 409]).toContain(status);
    expect(body.code).toMatch(/^(malformed_body|validation_failed|already_exists)$/);
    if (body.code === "validation_failed") expect(Object.keys(body.errors ?? {})).not.toEqual([]);
  }

  it.each(Object.keys(FIELDS))("%s: creates a complete token or changes nothing", async (field) => {
    await fc.assert(
      fc.asyncProperty(FIELDS[field] ?? fc.constant(null), async (value) => {
        const before = await stored.counts(tenant.id);
        const response = await backEnd("POST", "/tokens", { body: { ...RIGHT, [field]: value } });
        const after = await stored.counts(tenant.id);
        if (response.status === 201) {
          expect(after.tokens).toBe(before.tokens + (response.body._extras.deduplicated ? 0 : 1));
          const read = await clerk("GET", `/tokens/${encodeURIComponent(response.body.id)}`);
          expect(read.status).toBe(200);
          const { _extras, ...made } = response.body;
          expect(read.body).toEqual(made);
        } else {
          expectRefusal(response);
          expect(total(after)).toEqual(total(before));
        }
      }),
      settings,
    );
  });

  it.each(Object.keys(FIELDS).filter((field) => field !== "id" && field !== "type"))(
    "%s: patches a token to what is read afterwards, or leaves it as it was",
    async (field) => {
      const { id } = (await backEnd("POST", "/tokens", { body: RIGHT })).body;
      await fc.assert(
        fc.asyncProperty(FIELDS[field] ?? fc.constant(null), async (value) => {
          const before = await clerk("GET", `/tokens/${id}`);
          const body = { [field]: value, ...(field === "metadata" ? {} : { metadata: { patched: "yes" } }) };
          const response = await backEnd("PATCH", `/tokens/${id}`, { headers: MERGE_PATCH, body });
          const after = await clerk("GET", `/tokens/${id}`);
          if (response.status !== 200) expectRefusal(response);
          // A patch that would duplicate another token returns that one.
          const isPatched = response.status === 200 && response.body.id === id;
          expect(after.body).toEqual(isPatched ? response.body : before.body);
        }),
        settings,
      );
    },
  );

  it("tokenize: creates every token of a body, or none", async () => {
    const item = fc.oneof(scalar, fc.record({ type: FIELDS.type ?? scalar, data: anything }), fc.constant(RIGHT));
    const body = fc.oneof(fc.array(item, { maxLength: 4 }), fc.dictionary(name, item, { maxKeys: 4 }));
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const before = await stored.counts(tenant.id);
        const response = await backEnd("POST", "/tokenize", { body: value });
        if (response.status === 200) return;
        expectRefusal(response);
        expect(total(await stored.counts(tenant.id))).toEqual(total(before));
      }),
      { numRuns: 150, endOnFailure: true },
    );
  });
});
