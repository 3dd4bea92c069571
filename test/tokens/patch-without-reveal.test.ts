import fc from "fast-check";
import { expect, test } from "vitest";
import { storedContainer } from "../../src/access/container.js";
import { Fault } from "../../src/base/fault.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import type { Json } from "../../src/base/json.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { DEFAULT_SETTINGS } from "../../src/tenancy/settings.js";
import { applyPatch, type PatchAuthor } from "../../src/tokens/patch.js";
import type { Token } from "../../src/tokens/token.js";
import type { TokenPatch } from "../../src/tokens/token-patch.js";
import { tokenType } from "../../src/tokens/types/registry.js";
import { viewToken } from "../../src/tokens/view.js";
import { newTenantKeys } from "../support/tenant-keys.js";

const KEYS = newTenantKeys();
const NOW = new Date("2030-01-01T00:00:00Z");
const TENANT = newTenantId();
const ID = newUuid();

/** A token of which only `open` is shown, searchable and fingerprinted. */
function tokenWith(secret: string): Token {
  return {
    id: ID,
    type: tokenType("token"),
    data: new Sensitive<Json>({ open: "seen", secret }),
    attributes: {
      mask: { seen: "{{ data.open }}", last: "{{ data.open | slice: 1, 3 }}" },
      searchIndexes: ["{{ data.open }}"],
      fingerprintExpression: "{{ data.open }}",
    },
    containers: [storedContainer("/a/")],
    fingerprint: undefined,
    isDeduplicated: false,
    indexValues: ["seen"],
    expiry: undefined,
    createdBy: ID,
    createdAt: NOW,
    modifiedBy: undefined,
    modifiedAt: undefined,
    revision: 1,
  };
}

const expression = fc.constantFrom(
  ...["{{ data }}", "{{ data.secret }}", "{{ data.secret | slice: 0 }}", "{{ data.secret | remove: 'A' }}"],
  ...["{{ data.open }}", "{{ data.other | append: data.secret }}", "{{ data | stringify }}", "{{ data.nothing }}"],
  ...[
    "{{ data.secret | to_number }}",
    "{{ data.open }}{{ data.secret }}",
    "{{ broken",
    "literal",
    "{% if data.secret %}",
  ],
);
const text = fc.constantFrom("A", "AB", "seen", "other");
const orNothing = <T>(given: fc.Arbitrary<T>) => fc.option(given, { nil: undefined });
const mask = fc.oneof(
  expression,
  fc.constant(null),
  fc.dictionary(fc.constantFrom("seen", "last", "more"), fc.oneof(expression, fc.constant(null)), { maxKeys: 3 }),
  fc.array(expression, { maxLength: 2 }),
);
const data = fc.oneof(
  text,
  fc.dictionary(fc.constantFrom("open", "other", "secret"), fc.oneof(text, fc.constant(null)), { maxKeys: 3 }),
);
const patches: fc.Arbitrary<TokenPatch> = fc
  .record({
    ...{ data: orNothing(data), mask: orNothing(mask) },
    searchIndexes: orNothing(fc.option(fc.array(expression, { maxLength: 2 }))),
    fingerprintExpression: orNothing(fc.option(expression)),
    deduplicate: orNothing(fc.constantFrom(true, false, null)),
  })
  .map((patch) => Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)));

/** Everything that a patch shows its author and callers who see masks, and what remains. */
function patched(author: PatchAuthor, token: Token, patch: TokenPatch): { told: unknown; left: Token } {
  try {
    const { cvc: _, ...changed } = applyPatch(author, token, patch);
    const left = { ...token, ...changed };
    const views = [viewToken(TENANT, left, "mask"), viewToken(TENANT, left, "redact")];
    return { told: { views, indexValues: left.indexValues, isDeduplicated: left.isDeduplicated }, left };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { told: { refused: error.fields }, left: token };
  }
}

// The secrets have the same shape and differ in their length, their first character, and which parts are numbers.
test.each([
  ["public", "mask"],
  ["public", "redact"],
  ["private", "redact"],
] as const)("no response to a %s application with %s patches distinguishes two values", (type, transform) => {
  const principal = { kind: "application" as const, id: ID, type };
  const author = { keys: KEYS, now: NOW, settings: DEFAULT_SETTINGS, principal, transform };
  fc.assert(
    fc.property(fc.array(patches, { minLength: 1, maxLength: 6 }), (sequence) => {
      let one = tokenWith("A");
      let other = tokenWith("4242");
      for (const patch of sequence) {
        const first = patched(author, one, patch);
        const second = patched(author, other, patch);
        expect(first.told).toEqual(second.told);
        one = first.left;
        other = second.left;
      }
    }),
    { numRuns: 1_000 },
  );
});

test("an index or a fingerprint that fails for a value fails a patch only of who may use the value", () => {
  const principal = { kind: "application" as const, id: ID };
  const page: PatchAuthor = {
    keys: KEYS,
    now: NOW,
    settings: DEFAULT_SETTINGS,
    principal: { ...principal, type: "public" },
    transform: "mask",
  };
  const backEnd: PatchAuthor = { ...page, principal: { ...principal, type: "private" } };
  const number = "{{ data.secret | remove: data.other | to_number }}";
  const made = (secret: string): Token => {
    const token = tokenWith(secret);
    const attributes = { searchIndexes: [number], fingerprintExpression: number };
    return { ...token, attributes, isDeduplicated: true };
  };
  const patch: TokenPatch = { data: { other: "B" } };
  // One comes out as a number and one does not. A caller who may not use them gets the same for both.
  expect(applyPatch(page, made("4B2"), patch).indexValues).toEqual(["42"]);
  const quiet = applyPatch(page, made("AB"), patch);
  expect([quiet.indexValues, quiet.isDeduplicated]).toEqual([[], true]);
  expect(quiet.fingerprint).toHaveLength(applyPatch(page, made("4B2"), patch).fingerprint?.length ?? 0);
  expect(() => applyPatch(backEnd, made("AB"), patch)).toThrow(Fault);
});
