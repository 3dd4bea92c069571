import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TenantSettings } from "../../src/access/tenant-settings.js";
import { Fault, invalidFields } from "../../src/base/fault.js";
import type { Json } from "../../src/base/json.js";
import { readDraft } from "../../src/tokens/draft.js";
import { atPlace, movedTo, type PreparedToken, prepareToken, tokenContainers } from "../../src/tokens/prepare.js";
import type { TokenDraft } from "../../src/tokens/token.js";
import { tokenType, tokenTypes } from "../../src/tokens/types/registry.js";
import { faultFields } from "../expressions/faults.js";
import { applicationCaller } from "../support/caller.js";
import { newTenantKeys } from "../support/tenant-keys.js";
import { BANK, CARD } from "../support/token.js";

const KEYS = newTenantKeys();
const NOW = new Date("2026-06-01T00:00:00Z");
const caller = applicationCaller({ permissions: ["token:create"], rules: [] });
const CONTEXT = { caller, keys: KEYS, now: NOW };

function prepared(request: Record<string, Json>, settings: Partial<TenantSettings> = {}): PreparedToken {
  const draft = readDraft({ type: "token", data: "a value", ...request });
  const author = { ...caller, settings: { ...caller.settings, ...settings } };
  return prepareToken({ caller: author, keys: KEYS, now: NOW }, draft);
}

const VALID: Readonly<Record<string, Json>> = {
  token: { any: ["thing"] },
  card: CARD,
  bank: BANK,
  card_number: "4242424242424242",
  us_bank_account_number: "123",
  us_bank_routing_number: "021000021",
  social_security_number: "123-45-6789",
  employer_id_number: "12-3456789",
};

describe("a token of each type", () => {
  it.each(tokenTypes)("$name is prepared with the defaults of its type", ({ name, containers }) => {
    const token = prepared({ type: name, data: VALID[name] ?? null });
    expect(token).toMatchObject({
      ...{ containers, attributes: {}, fingerprint: undefined, isDeduplicated: false, expiry: undefined },
      idChoice: { kind: "ours" },
    });
    expect(token.data.reveal()).toEqual(VALID[name]);
  });

  it.each<[string, Json, string]>([
    ["card", "4242424242424242", "data"],
    ["card", { number: "4242 4242 4242 4242" }, "data.number"],
    ["bank", { account_number: "1" }, "data.routing_number"],
    ["bank", { ...BANK, account_number: "1".repeat(18) }, "data.account_number"],
    ["bank", { ...BANK, routing_number: "000000000" }, "data.routing_number"],
    ["bank", { ...BANK, routing_number: 21000021 }, "data.routing_number"],
    ["card_number", "4242424242424241", "data"],
    ["card_number", "4".repeat(12), "data"],
    ["us_bank_account_number", "12", "data"],
    ["us_bank_account_number", "1".repeat(18), "data"],
    ["us_bank_routing_number", "021000022", "data"],
    ["social_security_number", "12345678", "data"],
    ["social_security_number", "123--456789", "data"],
    ["social_security_number", "-123456789", "data"],
    ["employer_id_number", "12-34567890", "data"],
    ["employer_id_number", "１２３４５６７８９", "data"],
    ["unknown", "x", "type"],
  ])("%s rejects %j under the name %s", (type, data, field) => {
    expect(Object.keys(faultFields(() => prepared({ type, data })) ?? {})).toEqual([field]);
  });

  it("needs data that is not null, and accepts every other empty value", () => {
    const draft: TokenDraft = {
      ...{ id: undefined, type: "token", data: null, attributes: {}, containers: [] },
      ...{ deduplicate: undefined, expiresAt: undefined },
    };
    expect(faultFields(() => prepareToken(CONTEXT, draft))).toEqual({ data: ["must be given"] });
    for (const data of ["", 0, false, [], {}]) {
      expect(prepareToken(CONTEXT, { ...draft, data }).data.reveal()).toEqual(data);
    }
  });
});

describe("whether a new token has a fingerprint, and is deduplicated", () => {
  const ON = { fingerprint_tokens: true };
  const DEDUPE = { deduplicate_tokens: true };
  const OWN = { fingerprint_expression: "{{ data }}" };

  it.each<[Partial<TenantSettings>, Record<string, Json>, boolean, boolean]>([
    [{}, {}, false, false],
    [ON, {}, true, false],
    [{}, OWN, true, false],
    [DEDUPE, {}, true, true],
    [{}, { deduplicate_token: true }, true, true],
    [DEDUPE, { deduplicate_token: false }, false, false],
    [{ ...ON, ...DEDUPE }, { deduplicate_token: false }, true, false],
    [DEDUPE, { deduplicate_token: null }, true, true],
  ])("with settings %j and the request %j: %s, %s", (settings, request, hasFingerprint, isDeduplicated) => {
    const token = prepared(request, settings);
    expect([token.fingerprint !== undefined, token.isDeduplicated]).toEqual([hasFingerprint, isDeduplicated]);
  });

  it.each<[string, boolean, Record<string, Json>, Record<string, Json>]>([
    ["nothing", true, {}, {}],
    ["the order of members", true, { data: { a: 1, b: 2 } }, { data: { b: 2, a: 1 } }],
    ["the order of a list", false, { data: [1, 2] }, { data: [2, 1] }],
    ["their value", false, {}, { data: "another" }],
    ["their type", false, { type: "card_number", data: CARD.number }, { data: CARD.number }],
    ["metadata, which the expression does not use", true, {}, { metadata: { a: "1" } }],
    ["the dates of a card", true, { type: "card", data: CARD }, { type: "card", data: { number: CARD.number } }],
    ["the code of a card", true, { type: "card", data: { ...CARD, cvc: "1234" } }, { type: "card", data: CARD }],
    ["the hyphens of nine digits", true, ssn("123456789"), ssn("123-45-6789")],
  ])("requests that differ in %s have the same fingerprint: %s", (_, isSame, one, other) => {
    const [first, second] = [prepared(one, ON), prepared(other, ON)].map((token) => token.fingerprint);
    expect(first?.equals(second ?? Buffer.alloc(0))).toBe(isSame);
  });

  it("cannot be of an empty text where tokens are deduplicated: all would be one", () => {
    const request = { data: { a: "" }, fingerprint_expression: "{{ data.a }}" };
    expect(prepared(request).fingerprint).toBeDefined();
    expect(faultFields(() => prepared(request, DEDUPE))).toHaveProperty("fingerprint_expression");
    expect(prepared({ data: "" }, DEDUPE).fingerprint).toBeDefined();
  });
});

function ssn(data: string): Record<string, Json> {
  return { type: "social_security_number", data };
}

describe("a verification code, which is deleted after an hour", () => {
  const card = { type: "card", data: { ...CARD, cvc: "987" } };

  it("is not part of an id, and no index or fingerprint is made of it", () => {
    expect(prepared({ ...card, id: "order-{{ data.cvc }}" }).idChoice).toMatchObject({ kind: "alias", id: "order-" });
    expect(faultFields(() => prepared({ ...card, search_indexes: ["{{ data.cvc }}"] }))).toHaveProperty([
      "search_indexes[0]",
    ]);
    const [one, other] = ["987", "111"].map(
      (cvc) =>
        prepared({ type: "card", data: { ...CARD, cvc }, fingerprint_expression: "{{ data | stringify }}" })
          .fingerprint,
    );
    expect(one).toEqual(other);
  });
});

describe("the id of a new token", () => {
  it("is ours unless one is given, and a given one must be free", () => {
    expect(prepared({}).idChoice).toEqual({ kind: "ours" });
    expect(prepared({ id: "order-1" }).idChoice).toEqual({ kind: "given", id: "order-1" });
  });

  it("is tried four times if it is an expression, and then is a UUID", () => {
    const { idChoice } = prepared({ data: "123456", id: "{{ data | alias_preserve_length }}" });
    if (idChoice.kind !== "alias") throw new Error("the id is not an alias");
    const tries = [idChoice.id, ...Array.from({ length: 3 }, idChoice.next)];
    for (const id of tries) expect(id).toMatch(/^[a-z0-9]{6}$/);
    expect(new Set(tries).size).toBeGreaterThan(1);
    expect(idChoice.next()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });
});

describe("the containers of a token", () => {
  const type = tokenType("card");

  it("are those of its type by default, in lower case, and each once", () => {
    expect(tokenContainers(type, [])).toEqual(["/pci/high/"]);
    expect(tokenContainers(type, ["/B/", "/a/", "/b/"])).toEqual(["/b/", "/a/"]);
  });

  it("are named by their place in the request if one is malformed", () => {
    expect(faultFields(() => tokenContainers(type, ["/a/", "/b/", "c"]))).toHaveProperty(["containers[2]"]);
  });

  it("lie in at most 400 containers, with those above them", () => {
    const deep = (levels: number, root: string) => `/${root}/${"x/".repeat(levels - 1)}`;
    expect(tokenContainers(type, [deep(190, "a"), deep(190, "b"), deep(20, "c")])).toHaveLength(3);
    expect(faultFields(() => tokenContainers(type, [deep(190, "a"), deep(190, "b"), deep(21, "c")]))).toEqual({
      containers: ["must lie in at most 400 containers, those above them included"],
    });
    // Shared ancestors count once.
    expect(tokenContainers(type, [deep(190, "a"), `${deep(190, "a")}b/`, `${deep(190, "a")}c/`])).toHaveLength(3);
  });

  it("are the distinct ones of any list, in its order, unless they lie in too many", () => {
    const path = fc.tuple(fc.constantFrom("a", "B", "b", "c"), fc.integer({ min: 0, max: 198 }));
    const all = fc.array(
      fc.oneof(
        fc.constant("/"),
        path.map(([root, levels]) => `/${root}/${"x/".repeat(levels)}`),
      ),
      {
        minLength: 1,
        maxLength: 5,
      },
    );
    fc.assert(
      fc.property(all, (given) => {
        const distinct = [...new Set(given.map((each) => each.toLowerCase()))];
        const above = distinct.flatMap((each) =>
          [...each.matchAll(/(?<=.)\//g)].map(({ index }) => each.slice(0, index)),
        );
        const find = () => tokenContainers(type, given);
        if (new Set(above).size > 400) expect(Object.keys(faultFields(find) ?? {})).toEqual(["containers"]);
        else expect(find()).toEqual(distinct);
      }),
    );
  });
});

describe("a fault of one item of a larger request", () => {
  it.each<[string, string, string]>([
    ["people[0].card", "data.number", "people[0].card.data.number"],
    ["", "data.number", "data.number"],
    ["value", "type", "value.type"],
  ])("at %j names %s as %s", (place, field, named) => {
    const fault = movedTo(place, invalidFields({ [field]: ["is wrong", "is too long"] }));
    expect(fault).toMatchObject({ code: "validation_failed", fields: { [named]: ["is wrong", "is too long"] } });
    expect(fault.message.startsWith(`${named} is wrong`)).toBe(true);
  });

  it("keeps its code and words if it names no field, or is of another kind", () => {
    const denied = new Fault("permission_denied", "No.");
    expect(movedTo("a", denied)).toBe(denied);
    const taken = movedTo("a", new Fault("already_exists", "Taken.", { fields: { id: ["is taken"] } }));
    expect(taken).toMatchObject({ code: "already_exists", message: "Taken.", fields: { "a.id": ["is taken"] } });
  });

  it("is moved by the step that throws it, and other errors are not changed", () => {
    expect(atPlace("a", () => 5)).toBe(5);
    expect(faultFields(() => atPlace("a", () => prepared({ type: "card" })))).toHaveProperty(["a.data"]);
    const broken = new Error("broken");
    expect(() =>
      atPlace("a", () => {
        throw broken;
      }),
    ).toThrow(broken);
  });
});
