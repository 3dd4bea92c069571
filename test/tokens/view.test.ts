import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Transform } from "../../src/access/access-rule.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import type { Json } from "../../src/base/json.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { ShownToken } from "../../src/tokens/shown-token.js";
import type { Token, TokenAttributes } from "../../src/tokens/token.js";
import { tokenTypes } from "../../src/tokens/types/registry.js";
import { referenceOnlyView, viewToJson, viewToken, withoutCvc, writeResponseTransform } from "../../src/tokens/view.js";
import { arbitraryJson } from "../support/json.js";
import { BANK, CARD, tokenOf } from "../support/token.js";
import { withoutIds } from "../support/without-ids.js";

const TENANT = newTenantId();
const MASKED_CARD = { ...CARD, number: "XXXXXXXXXXXX4242" };
const MASKED_BANK = { ...BANK, account_number: "XXXX5678" };
const CARD_DEFINITION = tokenOf("card", CARD).type.mask;
const OWN = { mask: "{{ data.number | last4 }}" };
const INACTIVE: TokenAttributes = { inactive: ["mask"] };

describe("a token under a transform", () => {
  it.each<[string, string, Json, TokenAttributes, Transform, Json | undefined, Json | undefined, boolean]>([
    //  what                              type    data  attributes        transform data         mask             details
    ["a card in the clear", "card", CARD, {}, "reveal", CARD, MASKED_CARD, true],
    ["a masked card", "card", CARD, {}, "mask", MASKED_CARD, MASKED_CARD, true],
    ["a redacted card", "card", CARD, {}, "redact", undefined, CARD_DEFINITION, false],
    ["a card with its own mask, in the clear", "card", CARD, OWN, "reveal", CARD, OWN.mask, true],
    ["a card with its own mask", "card", CARD, OWN, "mask", "4242", OWN.mask, false],
    ["a redacted card with its own mask", "card", CARD, OWN, "redact", undefined, OWN.mask, false],
    ["a card whose own mask is inactive", "card", CARD, { ...OWN, ...INACTIVE }, "mask", undefined, OWN.mask, false],
    ["a card whose mask was restored, inactive", "card", CARD, INACTIVE, "mask", undefined, CARD_DEFINITION, false],
    ["such a card in the clear", "card", CARD, INACTIVE, "reveal", CARD, CARD_DEFINITION, true],
    ["a bank account in the clear", "bank", BANK, {}, "reveal", BANK, tokenOf("bank", BANK).type.mask, true],
    ["a masked bank account", "bank", BANK, {}, "mask", MASKED_BANK, tokenOf("bank", BANK).type.mask, true],
    ["a token without a mask, in the clear", "token", "x", {}, "reveal", "x", undefined, false],
    ["a token without a mask", "token", "x", {}, "mask", undefined, undefined, false],
    ["a redacted token without a mask", "token", "x", {}, "redact", undefined, undefined, false],
    ["a token with a literal mask", "token", "x", { mask: { a: 1 } }, "mask", { a: 1 }, { a: 1 }, false],
    ["a token whose mask finds nothing", "token", "x", { mask: "{{ data.y }}" }, "mask", null, "{{ data.y }}", false],
    [
      "data that is null by its mask alone",
      "token",
      {},
      { mask: { a: null } },
      "mask",
      { a: null },
      { a: null },
      false,
    ],
  ])("%s", (_, type, data, attributes, transform, shown, mask, hasDetails) => {
    const view = viewToken(TENANT, tokenOf(type, data, attributes), transform);
    expect(view.data).toEqual(shown);
    expect(view.mask).toEqual(mask);
    expect(view.card !== undefined || view.bank !== undefined).toBe(hasDetails);
  });

  it("is the same whatever its data if it is redacted", () => {
    const masks = fc.constantFrom<Json | undefined>(undefined, "{{ data }}", { a: "{{ data.a }}" }, [
      "{{ data | stringify }}",
    ]);
    fc.assert(
      fc.property(arbitraryJson, arbitraryJson, fc.constantFrom(...tokenTypes), masks, (one, other, type, mask) => {
        const token = tokenOf(type.name, one, mask === undefined ? {} : { mask });
        const same: Token = { ...token, data: new Sensitive(other) };
        const [first, second] = [token, same].map((each) => viewToJson(viewToken(TENANT, each, "redact")));
        expect(first).toEqual(second);
      }),
    );
  });

  it("is the same whatever its data if its mask has literals alone, or is inactive", () => {
    const attributes = fc.constantFrom<TokenAttributes>(
      ...[
        { mask: "hidden" },
        { mask: { a: ["x", 1, null] } },
        { mask: "{{ data }}", inactive: ["mask"] } as const,
        INACTIVE,
      ],
    );
    fc.assert(
      fc.property(
        arbitraryJson,
        arbitraryJson,
        fc.constantFrom(...tokenTypes),
        attributes,
        (one, other, type, given) => {
          const token = tokenOf(type.name, one, given);
          const [first, second] = [token, { ...token, data: new Sensitive(other) }].map((each) =>
            viewToJson(viewToken(TENANT, each, "mask")),
          );
          expect(first).toEqual(second);
        },
      ),
    );
  });

  it("shows the expression of the fingerprint that counts, and the fingerprint if there is one", () => {
    const fingerprint = Buffer.alloc(32, 7);
    expect(viewToken(TENANT, tokenOf("card", CARD), "mask")).toMatchObject({
      fingerprintExpression: "{{ data.number }}",
    });
    expect(viewToken(TENANT, tokenOf("card", CARD), "mask").fingerprint).toBeUndefined();
    const own = tokenOf("card", CARD, { fingerprintExpression: "{{ data }}" }, { fingerprint });
    expect(viewToken(TENANT, own, "redact")).toMatchObject({
      fingerprintExpression: "{{ data }}",
      fingerprint: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{44,46}$/),
    });
  });
});

describe("the response of a write", () => {
  it.each<[Transform, Transform]>([
    ["reveal", "mask"],
    ["mask", "mask"],
    ["redact", "redact"],
  ])("for a rule that grants %s is shown as %s", (granted, shown) => {
    expect(writeResponseTransform(granted)).toBe(shown);
  });

  it("for a caller who may not read has nothing that depends on the content but the fingerprint", () => {
    const token = tokenOf("card", CARD, { ...OWN, metadata: { a: "1" } }, { fingerprint: Buffer.alloc(32, 7) });
    expect(Object.keys(viewToJson(referenceOnlyView(TENANT, token)))).toEqual([
      ...["id", "tenant_id", "type", "fingerprint", "containers"],
    ]);
  });
});

describe("a view without the verification code", () => {
  const withCode = tokenOf(
    "card",
    { ...CARD, cvc: "987" },
    { mask: { code: "{{ data.cvc }}", year: "{{ data.expiration_year }}" } },
  );

  it.each<[Transform, Json | undefined, Json | undefined]>([
    ["reveal", { ...CARD, cvc: "987" }, CARD],
    ["mask", { code: "987", year: 2030 }, { year: 2030 }],
    ["redact", undefined, undefined],
  ])("under %s shows %j as %j", (transform, shown, lasting) => {
    const view = viewToken(TENANT, withCode, transform);
    expect(view.data).toEqual(shown);
    expect(withoutCvc(view).data).toEqual(lasting);
    expect(withoutIds(viewToJson(withoutCvc(view)))).not.toContain("987");
  });

  it("keeps that the token was deduplicated, and is the same object for a token without a code", () => {
    const duplicate = viewToken(TENANT, withCode, "mask", { deduplicated: true });
    expect([duplicate.deduplicated, withoutCvc(duplicate).deduplicated]).toEqual([true, true]);
    const plain = viewToken(TENANT, tokenOf("card", CARD), "mask");
    expect(withoutCvc(plain)).toBe(plain);
  });
});

describe("a token in JSON", () => {
  it("has every field under its published name", () => {
    const at = new Date("2026-02-03T04:05:06.007Z");
    const token = tokenOf(
      "card",
      CARD,
      { metadata: { a: "1" }, searchIndexes: ["{{ data.number }}"], fingerprintExpression: "{{ data.number }}" },
      {
        ...{ expiry: { at, text: "2030-01-01T00:00:00+02:00" }, fingerprint: Buffer.alloc(32, 7) },
        ...{ modifiedBy: newUuid(), modifiedAt: at },
      },
    );
    const json = viewToJson({ ...viewToken(TENANT, token, "mask"), deduplicated: false });
    expect(json).toMatchObject({
      ...{ id: token.id, tenant_id: TENANT, type: "card", data: MASKED_CARD, mask: MASKED_CARD },
      ...{ containers: ["/pci/high/"], metadata: { a: "1" }, search_indexes: ["{{ data.number }}"] },
      ...{ fingerprint_expression: "{{ data.number }}", expires_at: "2030-01-01T00:00:00+02:00" },
      ...{ created_by: token.createdBy, created_at: "2026-01-01T00:00:00.000Z" },
      ...{ modified_by: token.modifiedBy, modified_at: "2026-02-03T04:05:06.007Z" },
      card: { bin: "42424242", last4: "4242", expiration_month: 12, expiration_year: 2030, brand: "visa" },
      _extras: { deduplicated: false },
    });
    expect(JSON.parse(JSON.stringify(json))).toEqual(json);
  });
});

describe("a token as expressions see it", () => {
  it.each<[Transform, TokenAttributes, Json, boolean]>([
    ["reveal", {}, CARD, true],
    ["mask", {}, MASKED_CARD, true],
    ["redact", {}, null, false],
    ["mask", OWN, "4242", false],
    ["reveal", OWN, CARD, true],
    ["mask", INACTIVE, null, false],
  ])("under %s with attributes %j has the data %j, and enrichments: %s", (transform, attributes, data, isEnriched) => {
    const shown = new ShownToken(TENANT, tokenOf("card", CARD, attributes), transform, {});
    expect(shown.data).toEqual(data);
    expect(shown.token.data ?? null).toEqual(data);
    expect("enrichments" in shown.token).toBe(isEnriched);
  });

  it("is computed once, so every reference to it sees the same", () => {
    const mask = "{{ data.number | alias_preserve_length }}";
    const shown = new ShownToken(TENANT, tokenOf("card", CARD, { mask }), "mask", {});
    expect(shown.data).toMatch(/^[a-z0-9]{16}$/);
    expect(shown.token.data).toBe(shown.data);
    expect(shown.token).toBe(shown.token);
  });
});
