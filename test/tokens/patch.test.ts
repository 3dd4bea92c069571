import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Transform } from "../../src/access/access-rule.js";
import { storedContainer } from "../../src/access/container.js";
import { Grant } from "../../src/access/grant.js";
import { Fault } from "../../src/base/fault.js";
import { newTenantId } from "../../src/base/ids.js";
import type { Json } from "../../src/base/json.js";
import { mergePatch } from "../../src/base/merge-patch.js";
import { DEFAULT_SETTINGS } from "../../src/tenancy/settings.js";
import {
  applyPatch,
  type PatchAuthor,
  type PatchedToken,
  patchTransform,
  requireImmutableUnchanged,
} from "../../src/tokens/patch.js";
import { fingerprint } from "../../src/tokens/prepare.js";
import type { Token, TokenAttributes } from "../../src/tokens/token.js";
import type { TokenPatch } from "../../src/tokens/token-patch.js";
import { rightsOf } from "../access/rights.js";
import { faultFields } from "../expressions/faults.js";
import { applicationCaller, personCaller } from "../support/caller.js";
import { arbitraryJson } from "../support/json.js";
import { newTenantKeys } from "../support/tenant-keys.js";
import { BANK, CARD, tokenOf } from "../support/token.js";

const KEYS = newTenantKeys();
const NOW = new Date("2026-06-01T00:00:00Z");
const NO_RIGHTS = { permissions: [], rules: [] };

/** A back end whose rule shows masks: its expressions may use values. */
const BACK_END: PatchAuthor = { ...applicationCaller(NO_RIGHTS), keys: KEYS, now: NOW, transform: "mask" };
/** A page's key is public, so its expressions may not. */
const PAGE: PatchAuthor = { ...applicationCaller(NO_RIGHTS, "public"), keys: KEYS, now: NOW, transform: "mask" };

function patched(token: Token, patch: TokenPatch, author: PatchAuthor = BACK_END): PatchedToken {
  return applyPatch(author, token, patch);
}

describe("a patch of data", () => {
  it("is merged, and the result is validated like a new token", () => {
    fc.assert(
      fc.property(arbitraryJson, arbitraryJson, (data, patch) => {
        fc.pre(patch !== null);
        expect(patched(tokenOf("token", data), { data: patch }).data.reveal()).toEqual(mergePatch(data, patch));
      }),
    );
  });

  it.each<[string, Json, Json, Json]>([
    ["card", CARD, { expiration_year: "2031" }, { ...CARD, expiration_year: 2031 }],
    ["card", CARD, { expiration_month: null, expiration_year: null }, { number: CARD.number }],
    ["card", CARD, { number: "4111111111111111" }, { ...CARD, number: "4111111111111111" }],
    ["bank", BANK, { account_number: "1" }, { ...BANK, account_number: "1" }],
    ["card_number", "4242424242424242", "4111111111111111", "4111111111111111"],
  ])("is validated as the type %s asks: %j with %j is %j", (type, data, patch, result) => {
    expect(patched(tokenOf(type, data), { data: patch }).data.reveal()).toEqual(result);
  });

  it.each<[string, Json, TokenPatch, string]>([
    ["card", CARD, { data: { number: null } }, "data.number"],
    ["card", CARD, { data: { number: "1" }, dataField: "card_data" }, "card_data.number"],
    ["card", CARD, { data: { iban: "x" }, dataField: "card_data" }, "card_data.iban"],
    ["card", CARD, { data: "4242424242424242" }, "data"],
    ["bank", BANK, { data: { number: CARD.number }, dataField: "card_data" }, "card_data"],
    ["bank", BANK, { data: { routing_number: "021000022" }, dataField: "bank_data" }, "bank_data.routing_number"],
    ["card_number", CARD.number, { data: {} }, "data"],
    ["token", "x", { data: null }, "data"],
  ])("is rejected under the name of the sent field: %s %j with %j names %s", (type, data, patch, field) => {
    expect(Object.keys(faultFields(() => patched(tokenOf(type, data), patch)) ?? {})).toEqual([field]);
  });
});

describe("a verification code", () => {
  const withCode = { ...CARD, cvc: "123" };

  it.each<[string, Json, TokenPatch, string | null | undefined]>([
    ["is replaced by one that the patch names", withCode, { data: { cvc: "987" } }, "987"],
    ["is written from a number", CARD, { data: { cvc: 9876 } }, "9876"],
    ["is deleted by null", withCode, { data: { cvc: null } }, null],
    ["is kept, with its hour, by a patch of other fields", withCode, { data: { expiration_month: 1 } }, undefined],
    ["is kept by a patch without data", withCode, { metadata: { a: "1" } }, undefined],
    ["is not made by a patch that does not name it", CARD, { data: {} }, undefined],
  ])("%s", (_, data, patch, cvc) => {
    expect(patched(tokenOf("card", data), patch).cvc).toBe(cvc);
  });

  it("is data like any other for types without a code", () => {
    expect(patched(tokenOf("token", { cvc: "123" }), { data: { cvc: null } })).toMatchObject({ cvc: undefined });
  });
});

describe("a patch of attributes", () => {
  it.each<[string, string, TokenAttributes, TokenPatch, TokenAttributes]>([
    [
      "merges a mask",
      "token",
      { mask: { a: "1", b: "2" } },
      { mask: { b: null, c: "3" } },
      { mask: { a: "1", c: "3" } },
    ],
    ["replaces a mask that is a text", "token", { mask: "1" }, { mask: { a: "2" } }, { mask: { a: "2" } }],
    ["restores the mask of the type with null", "token", { mask: "1" }, { mask: null }, {}],
    [
      "merges a first mask into the mask of the type",
      "bank",
      {},
      { mask: { account_number: null } },
      { mask: { routing_number: "{{ data.routing_number }}" } },
    ],
    ["merges metadata", "token", { metadata: { a: "1", b: "2" } }, { metadata: { a: null } }, { metadata: { b: "2" } }],
    ["clears metadata with null", "token", { metadata: { a: "1" } }, { metadata: null }, {}],
    ["leaves no empty metadata", "token", { metadata: { a: "1" } }, { metadata: { a: null } }, {}],
    [
      "replaces search indexes",
      "token",
      { searchIndexes: ["{{ data }}"] },
      { searchIndexes: ["{{ data | last4 }}"] },
      { searchIndexes: ["{{ data | last4 }}"] },
    ],
    [
      "may have no search indexes",
      "token",
      { searchIndexes: ["{{ data }}"] },
      { searchIndexes: [] },
      { searchIndexes: [] },
    ],
    ["restores search indexes of the type", "token", { searchIndexes: ["{{ data }}"] }, { searchIndexes: null }, {}],
    [
      "replaces the fingerprint expression",
      "token",
      { fingerprintExpression: "{{ data }}" },
      { fingerprintExpression: "{{ data | last4 }}" },
      { fingerprintExpression: "{{ data | last4 }}" },
    ],
    ["restores it with null", "token", { fingerprintExpression: "{{ data }}" }, { fingerprintExpression: null }, {}],
    [
      "leaves what it does not name",
      "token",
      { mask: "m", metadata: { a: "1" }, searchIndexes: ["{{ data }}"], fingerprintExpression: "{{ data }}" },
      {},
      { mask: "m", metadata: { a: "1" }, searchIndexes: ["{{ data }}"], fingerprintExpression: "{{ data }}" },
    ],
  ])("%s", (_, type, attributes, patch, expected) => {
    const data = type === "bank" ? BANK : "a value";
    expect(patched(tokenOf(type, data, attributes), patch).attributes).toEqual(expected);
  });

  it.each<[TokenPatch, string[]]>([
    [{ mask: { a: "{{ data | nope }}" } }, ["mask.a"]],
    [{ metadata: "text" }, ["metadata"]],
    [{ metadata: { a: 1, b: [] } }, ["metadata.a", "metadata.b"]],
    [{ metadata: { "": "x" } }, ["metadata."]],
    [{ searchIndexes: ["{{ data }}", "{{ data.none }}"] }, ["search_indexes[1]"]],
    [{ fingerprintExpression: "{{ data | nope }}" }, ["fingerprint_expression"]],
    [{ expiresAt: "2026-05-31" }, ["expires_at"]],
    [{ containers: ["/a/", "b"] }, ["containers[1]"]],
    [{ containers: [] }, ["containers"]],
    [{ containers: null }, ["containers"]],
  ])("%j is rejected and names %j", (patch, fields) => {
    expect(Object.keys(faultFields(() => patched(tokenOf("token", "a value"), patch)) ?? {})).toEqual(fields);
  });

  it.each<[string | null | undefined, string | undefined]>([
    [undefined, "2030-01-01T00:00:00.000Z"],
    [null, undefined],
    ["2031-01-01", "2031-01-01T00:00:00.000Z"],
  ])("sets the expiry with %j to %s", (expiresAt, text) => {
    const expiry = { at: new Date("2030-01-01"), text: "2030-01-01T00:00:00.000Z" };
    const token = tokenOf("token", "x", {}, { expiry });
    expect(patched(token, expiresAt === undefined ? {} : { expiresAt }).expiry?.text).toBe(text);
  });

  it("stores metadata of 50 entries at most, also if each patch brings few", () => {
    const entries = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${from + index}`, "x"]));
    const token = tokenOf("token", "x", { metadata: entries(0, 45) });
    expect(Object.keys(patched(token, { metadata: entries(45, 5) }).attributes.metadata ?? {})).toHaveLength(50);
    const fields = faultFields(() => patched(token, { metadata: entries(45, 6) }));
    expect(fields).toEqual({ metadata: ["must have at most 50 entries"] });
  });
});

describe("the fingerprint after a patch", () => {
  const ON = { fingerprint_tokens: true };
  const DEDUPE = { deduplicate_tokens: true };
  const OWN = { fingerprintExpression: "{{ data }}" };

  it.each<[string, Partial<typeof DEFAULT_SETTINGS>, Partial<Token>, TokenPatch, [boolean, boolean]]>([
    ["is absent where nothing asks for it", {}, {}, {}, [false, false]],
    ["is present if the tenant's setting says so", ON, {}, {}, [true, false]],
    ["is present with an own expression", {}, { attributes: OWN }, {}, [true, false]],
    ["is present once the patch has an expression", {}, {}, OWN, [true, false]],
    [
      "is absent once the expression is cleared",
      {},
      { attributes: OWN },
      { fingerprintExpression: null },
      [false, false],
    ],
    ["is present for a deduplicated token", {}, { isDeduplicated: true }, {}, [true, true]],
    ["is present once the patch deduplicates", {}, {}, { deduplicate: true }, [true, true]],
    ["is absent once deduplication is off", {}, { isDeduplicated: true }, { deduplicate: false }, [false, false]],
    ["follows the tenant's setting after null", DEDUPE, {}, { deduplicate: null }, [true, true]],
    [
      "follows the tenant's setting after null, if off",
      {},
      { isDeduplicated: true },
      { deduplicate: null },
      [false, false],
    ],
    ["stays off against the tenant's setting", DEDUPE, {}, { deduplicate: false }, [false, false]],
    ["joins the tenant's deduplication with any patch", DEDUPE, {}, { metadata: { a: "1" } }, [true, true]],
  ])("%s", (_, settings, rest, patch, [isPresent, isDeduplicated]) => {
    const author = { ...BACK_END, settings: { ...DEFAULT_SETTINGS, ...settings } };
    const result = patched(tokenOf("token", "value", {}, rest), patch, author);
    expect([result.fingerprint !== undefined, result.isDeduplicated]).toEqual([isPresent, isDeduplicated]);
  });

  it("is that of a new token with the same content", () => {
    const token = tokenOf("card", { ...CARD, cvc: "123" }, {}, { isDeduplicated: true });
    const { fingerprint: found } = patched(token, { data: { number: "4111111111111111", cvc: "987" } });
    const data = { ...CARD, number: "4111111111111111" };
    expect(found).toEqual(fingerprint(KEYS, { type: token.type, data, attributes: {}, isDeduplicated: true }));
  });

  it("must not be of an empty text where tokens are deduplicated: all would be one", () => {
    const token = tokenOf("token", { a: "" }, {}, { isDeduplicated: true });
    const fields = faultFields(() => patched(token, { fingerprintExpression: "{{ data.a }}" }));
    expect(fields).toHaveProperty("fingerprint_expression");
  });

  it("is not made for an author who may not use the value: it would confirm a guess", () => {
    const token = tokenOf("token", "secret");
    for (const author of [PAGE, { ...BACK_END, transform: "redact" as const }, personAuthor()]) {
      expect(patched(token, { deduplicate: true }, author)).toMatchObject({
        fingerprint: undefined,
        isDeduplicated: false,
      });
    }
    expect(patched(token, { deduplicate: true, data: "known" }, PAGE).isDeduplicated).toBe(true);
    expect(patched(token, { deduplicate: true }, BACK_END).isDeduplicated).toBe(true);
  });
});

describe("values by which a patched token is found", () => {
  const indexed = tokenOf(
    "token",
    { a: "one", b: "two" },
    { searchIndexes: ["{{ data.a }}"] },
    { indexValues: ["one"] },
  );

  it.each<[string, TokenPatch, readonly string[]]>([
    ["stay without a change of data or indexes", { metadata: { x: "1" } }, ["one"]],
    ["follow the data", { data: { a: "changed" } }, ["changed"]],
    ["follow the indexes", { searchIndexes: ["{{ data.b }}", "{{ data.a }}"] }, ["two", "one"]],
    ["are those of the type after null", { searchIndexes: null }, []],
  ])("%s", (_, patch, values) => {
    expect(patched(indexed, patch).indexValues).toEqual(values);
  });

  it("are not those of an expression whose author may not use the value", () => {
    const result = patched(indexed, { searchIndexes: ["{{ data.b }}"] }, PAGE);
    expect(result.indexValues).toEqual([]);
    expect(result.attributes).toMatchObject({ searchIndexes: ["{{ data.b }}"], inactive: ["searchIndexes"] });
  });
});

describe("the right to patch a token", () => {
  it.each<[string, readonly string[], readonly string[], readonly string[] | undefined, Transform | undefined]>([
    ["is that for its containers", ["/a/ mask update"], ["/a/"], undefined, "mask"],
    ["is given by one of its containers", ["/a/ mask update"], ["/z/", "/a/"], undefined, "mask"],
    ["is another than the right to read", ["/a/ mask read"], ["/a/"], undefined, undefined],
    ["is needed where a token is moved to", ["/a/ mask update"], ["/a/"], ["/b/"], undefined],
    ["is needed where a token is moved from", ["/b/ mask update"], ["/a/"], ["/b/"], undefined],
    ["is needed for every container of a token that is moved", ["/a/ mask update"], ["/z/", "/a/"], ["/a/"], undefined],
    [
      "shows least of all containers after a move",
      ["/b/ redact update", "/ reveal update"],
      ["/a/"],
      ["/b/"],
      "redact",
    ],
    ["shows least of all containers before a move", ["/a/ redact update", "/ mask update"], ["/a/"], ["/b/"], "redact"],
    ["is not that of a move if the containers stay", ["/a/ mask update"], ["/z/", "/a/"], ["/Z/", "/a/"], "mask"],
    ["is that of a move if their order changes", ["/a/ mask update"], ["/z/", "/a/"], ["/a/", "/z/"], undefined],
  ])("%s", (_, lines, before, containers, expected) => {
    const token = tokenOf("token", "x", {}, { containers: before.map(storedContainer) });
    const patch = containers === undefined ? { data: "y" } : { containers };
    expect(patchTransform(new Grant(rightsOf(...lines)), token, patch)).toBe(expected);
  });

  it("is refused before the containers of the patch are read", () => {
    const grant = new Grant(rightsOf("/b/ mask update"));
    const token = tokenOf("token", "x", {}, { containers: [storedContainer("/a/")] });
    expect(patchTransform(grant, token, { containers: null })).toBeUndefined();
  });
});

describe("an immutable field in a patch", () => {
  const tenantId = newTenantId();

  it.each<[TokenPatch["fixed"], string | undefined]>([
    [undefined, undefined],
    [{}, undefined],
    [{ type: "card" }, undefined],
    [{ tenantId }, undefined],
    [{ type: "bank" }, "type"],
    [{ type: null }, "type"],
    [{ type: "Card" }, "type"],
    [{ tenantId: newTenantId() }, "tenant_id"],
    [{ tenantId: null }, "tenant_id"],
  ])("may be sent back unchanged only: %j is refused for %s", (fixed, field) => {
    const check = () => requireImmutableUnchanged(tenantId, tokenOf("card", CARD), fixed ? { fixed } : {});
    if (field === undefined) expect(check).not.toThrow();
    else expect(faultFields(check)).toEqual({ [field]: ["cannot be changed"] });
  });
});

it("any patch gives a token that could have been created, or a fault, and never another error", () => {
  const patches: fc.Arbitrary<TokenPatch> = fc.record(
    {
      data: fc.oneof(arbitraryJson, fc.record({ number: fc.constantFrom("4111111111111111", "1") })),
      mask: arbitraryJson,
      metadata: arbitraryJson,
      containers: fc.option(fc.array(fc.constantFrom("/a/", "/A/b/", "x"), { maxLength: 2 })),
      deduplicate: fc.option(fc.boolean()),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(patches, fc.constantFrom(BACK_END, PAGE), (patch, author) => {
      const token = tokenOf("card", CARD);
      try {
        const { data, fingerprint: print, isDeduplicated, containers } = patched(token, patch, author);
        expect(token.type.normalize(data.reveal())).toEqual(data.reveal());
        expect(containers.length).toBeGreaterThan(0);
        if (isDeduplicated) expect(print).toBeDefined();
      } catch (error) {
        expect(error).toBeInstanceOf(Fault);
      }
    }),
  );
});

function personAuthor(): PatchAuthor {
  return { ...personCaller("OWNER"), keys: KEYS, now: NOW, transform: "mask" };
}
