import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import type { Json } from "../../src/base/json.js";
import { SealBroken } from "../../src/crypto/sealed.js";
import type { TokenRowWithCvc } from "../../src/store/tokens/tokens.js";
import { openToken, sealCvc, sealToken, splitCvc, tokenDataText } from "../../src/tokens/sealing.js";
import type { TokenAttributes } from "../../src/tokens/token.js";
import { arbitraryJson } from "../support/json.js";
import { newTenantKeys } from "../support/tenant-keys.js";
import { BANK, CARD } from "../support/token.js";

const KEYS = newTenantKeys();

/** The row of a token, as it is stored. */
function rowOf(type: string, data: Json, attributes: TokenAttributes = {}, indexValues: readonly string[] = []) {
  const { data: lasting, cvc } = splitCvc(type, data);
  const plain = {
    id: newUuid(),
    type,
    containers: ["/a/"],
    revision: 3,
    fingerprint: Buffer.alloc(32, 1),
    dedupe_key: null,
  };
  const row: TokenRowWithCvc = {
    ...plain,
    ...sealToken(KEYS, plain, { text: tokenDataText(lasting), attributes, indexValues }),
    ...{ expires_at: null, expires_at_text: null, active_month: "2026-01-01" },
    ...{ created_by: newUuid(), created_at: new Date("2026-01-01"), modified_by: null, modified_at: null },
    cvc: cvc === undefined ? null : sealCvc(KEYS, plain.id, cvc),
  };
  return row;
}

const opened = (row: TokenRowWithCvc) => openToken(KEYS, row);

describe("a stored token", () => {
  it("opens with any data that it was stored with", () => {
    fc.assert(
      fc.property(arbitraryJson, (data) => {
        expect(opened(rowOf("token", data)).data.reveal()).toEqual(data);
      }),
    );
  });

  it.each<[string, TokenAttributes]>([
    ["none", {}],
    ["a mask", { mask: { a: [1, null, "{{ data }}"] } }],
    ["a mask that is null", { mask: null }],
    ["metadata", { metadata: { a: "1", b: "" } }],
    ["no search indexes instead of its type's", { searchIndexes: [] }],
    ["search indexes", { searchIndexes: ["{{ data }}"] }],
    ["a fingerprint expression", { fingerprintExpression: "{{ data }}" }],
    ["inactive expressions", { mask: "{{ data }}", inactive: ["mask", "searchIndexes"] }],
  ])("opens with the attributes that it was stored with: %s", (_, attributes) => {
    expect(opened(rowOf("token", "x", attributes)).attributes).toEqual(attributes);
  });

  it("keeps the values of its own search indexes, because a random alias cannot be evaluated again", () => {
    const own = rowOf("token", "x", { searchIndexes: ["{{ data | alias_preserve_length }}"] }, ["k"]);
    expect(opened(own).indexValues).toEqual(["k"]);
    expect(opened(rowOf("token", "x", {}, ["of the type"])).indexValues).toBeUndefined();
  });

  it("has no sealed attributes if it has none", () => {
    expect(rowOf("token", "x").attributes).toBeNull();
    expect(rowOf("token", "x", { metadata: {} }).attributes).not.toBeNull();
  });

  const row = rowOf("token", { a: 1 }, { mask: "m" });
  const other = rowOf("token", { a: 2 }, { mask: "n" });

  it.each<[string, Partial<TokenRowWithCvc>]>([
    ["another id", { id: newUuid() }],
    ["another type", { type: "card" }],
    ["another container", { containers: ["/b/"] }],
    ["one more container", { containers: ["/a/", "/b/"] }],
    ["no container", { containers: [] }],
    ["another revision", { revision: 4 }],
    ["another fingerprint", { fingerprint: Buffer.alloc(32, 2) }],
    ["no fingerprint", { fingerprint: null }],
    ["a deduplication key", { dedupe_key: Buffer.alloc(32, 1) }],
    ["the data of another token", { data: other.data }],
    ["the attributes of another token", { attributes: other.attributes }],
    ["its attributes in place of its data", { data: row.attributes ?? Buffer.alloc(0) }],
    ["its data in place of its attributes", { attributes: row.data }],
  ])("does not open with %s", (_, change) => {
    expect(() => opened({ ...row, ...change })).toThrow(SealBroken);
  });

  it("does not open for another tenant, or with other keys", () => {
    expect(() => openToken({ ...KEYS, tenantId: newTenantId() }, row)).toThrow(SealBroken);
    expect(() => openToken(newTenantKeys(), row)).toThrow(SealBroken);
  });
});

describe("a verification code", () => {
  const withCode = rowOf("card", { ...CARD, cvc: "987" });

  it("is stored apart from the card, under a key of its own, and opens with it", () => {
    expect(opened(withCode).data.reveal()).toEqual({ ...CARD, cvc: "987" });
    expect(opened({ ...withCode, cvc: null }).data.reveal()).toEqual(CARD);
    const mixed = { ...KEYS, cvc: KEYS.data };
    expect(() => openToken(mixed, withCode)).toThrow(SealBroken);
    expect(openToken(mixed, { ...withCode, cvc: null }).data.reveal()).toEqual(CARD);
  });

  it("does not open with another card", () => {
    const other = rowOf("card", { ...CARD, cvc: "111" });
    expect(() => opened({ ...withCode, cvc: other.cvc })).toThrow(SealBroken);
  });

  it.each<[string, Json, string | undefined]>([
    ["card", { ...CARD, cvc: "987" }, "987"],
    ["card", CARD, undefined],
    ["card", { ...CARD, cvc: 987 }, undefined],
    ["card", "4242424242424242", undefined],
    ["card", ["987"], undefined],
    ["token", { cvc: "987" }, undefined],
    ["bank", { ...BANK, cvc: "987" }, undefined],
  ])("is part of cards only: %s %j has %s", (type, data, cvc) => {
    const split = splitCvc(type, data);
    expect(split.cvc).toBe(cvc);
    if (cvc === undefined) expect(split.data).toEqual(data);
    else expect(split.data).toEqual(CARD);
  });
});
