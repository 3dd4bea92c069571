import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { MAX_TOKENS, planTokenize } from "../../src/tokens/tokenize.js";
import type { TokenView } from "../../src/tokens/view.js";
import { faultFields } from "../expressions/faults.js";
import { applicationCaller } from "../support/caller.js";
import { arbitraryJson } from "../support/json.js";
import { newTenantKeys } from "../support/tenant-keys.js";
import { CARD } from "../support/token.js";

const caller = applicationCaller({ permissions: ["token:create"], rules: [] });
const KEYS = newTenantKeys();
const plan = (body: Json) => planTokenize({ caller, keys: KEYS, now: new Date("2026-06-01") }, body);

/** The response to a body if its tokens had the ids t0, t1, ... */
function responseTo(body: Json): Json {
  const { items, assemble } = plan(body);
  const views = items.map((_, index): TokenView => {
    return { id: `t${index}`, tenantId: caller.tenantId, type: "token", containers: [] };
  });
  return assemble(views, ({ id }) => ({ token: id }));
}

const card = { type: "card", data: CARD };

describe("a tokenize request", () => {
  it.each<[Json, readonly string[], Json]>([
    ["text", ["value"], "t0"],
    [5, ["value"], "t0"],
    [null, [], null],
    [[], [], []],
    [{ a: {}, b: [null] }, [], { a: {}, b: [null] }],
    [{ a: "x", b: [true, { c: 0 }] }, ["value.a", "value.b[0]", "value.b[1].c"], { a: "t0", b: ["t1", { c: "t2" }] }],
    [card, ["value"], { token: "t0" }],
    [
      [card, "x"],
      ["value[0]", "value[1]"],
      [{ token: "t0" }, "t1"],
    ],
    [{ card, note: "x" }, ["value.card", "value.note"], { card: { token: "t0" }, note: "t1" }],
    [{ type: "card" }, ["value.type"], { type: "t0" }],
    [{ data: { type: "x" } }, ["value.data.type"], { data: { type: "t0" } }],
  ])("%j makes tokens of %j and returns %j", (body, places, response) => {
    expect(plan(body).items.map(({ place }) => place)).toEqual(places);
    expect(responseTo(body)).toEqual(response);
  });

  it("returns the same structure, whatever it is, with one token for each value that is not null", () => {
    const leavesOf = (value: Json): Json[] =>
      typeof value === "object" && value !== null ? Object.values(value).flatMap(leavesOf) : [value];
    const shapeOf = (value: Json): Json =>
      JSON.parse(JSON.stringify(value, (_, part) => (isLeaf(part) ? "leaf" : part)));
    fc.assert(
      fc.property(arbitraryJson, (body) => {
        const leaves = leavesOf(body).filter((leaf) => leaf !== null);
        const { items } = plan(body);
        expect(items.map(({ prepared }) => prepared.data.reveal())).toEqual(leaves);
        const response = responseTo(body);
        expect(shapeOf(response)).toEqual(shapeOf(body));
        expect(leavesOf(response).filter((leaf) => leaf !== null)).toEqual(leaves.map((_, index) => `t${index}`));
      }),
    );
  });

  it.each<[Json, string[]]>([
    [{ a: { type: "card", data: { number: "1" } } }, ["value.a.data.number"]],
    [[card, { type: "card", data: "x" }], ["value[1].data"]],
    [{ type: "crad", data: CARD }, ["value.type"]],
    [{ type: null, data: "x" }, ["value.type"]],
    [[{ type: "token", data: null }], ["value[0].data"]],
    [{ a: { type: "token", data: "x", metadata: { b: 1 } } }, ["value.a.metadata.b"]],
    [
      [
        { type: "card", data: { number: "1" } },
        { type: "bank", data: {} },
      ],
      ["value[0].data.number", "value[1].data.routing_number", "value[1].data.account_number"],
    ],
  ])("%j is rejected and names every place: %j", (body, fields) => {
    expect(Object.keys(faultFields(() => plan(body)) ?? {})).toEqual(fields);
  });

  it("has 100 tokens at most, leaves and token requests together; nulls do not count", () => {
    const leaves = (count: number): Json[] => Array.from({ length: count }, (_, index) => index);
    expect(plan([...leaves(MAX_TOKENS - 1), card, null, [], {}]).items).toHaveLength(100);
    expect(faultFields(() => plan([...leaves(MAX_TOKENS), card]))).toEqual({
      value: ["must hold at most 100 values to tokenize"],
    });
  });

  it("makes plain tokens of leaves, with the defaults of the type", () => {
    expect(plan({ a: "4242424242424242" }).items[0]?.prepared).toMatchObject({
      ...{ type: { name: "token" }, containers: ["/general/high/"], attributes: {}, idChoice: { kind: "ours" } },
      ...{ isDeduplicated: false, fingerprint: undefined, expiry: undefined },
    });
  });
});

function isLeaf(value: unknown): boolean {
  return value !== null && typeof value !== "object";
}
