import { afterAll, describe, expect, test } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { type BtMethod, BtRefusal } from "../../../src/sandbox/host-calls.js";
import { exporting, openSandbox } from "../support/open-sandbox.js";

const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

/** Runs one call of bt: the request that the host got, and the result of the code. */
async function call(expression: string, response: Json = null): Promise<{ asked: [BtMethod, Json][]; got: Json }> {
  const asked: [BtMethod, Json][] = [];
  const bt = async (method: BtMethod, args: Json) => {
    asked.push([method, args]);
    return response;
  };
  const got = await opened.value(exporting(`async ({ bt }) => ${expression}`), { hosts: { bt } });
  return { asked, got };
}

const wireToken = {
  id: "t1",
  type: "card",
  tenant_id: "x",
  data: { card_number: "4242", nestedKey: { snake_key: 1 } },
  metadata: { snake_case: "a", camelCase: "b" },
  fingerprint_expression: "{{ data }}",
  search_indexes: ["{{ data.card_number }}"],
  expires_at: null,
};
const guestToken = {
  id: "t1",
  type: "card",
  tenantId: "x",
  data: { card_number: "4242", nestedKey: { snake_key: 1 } },
  metadata: { snake_case: "a", camelCase: "b" },
  fingerprintExpression: "{{ data }}",
  searchIndexes: ["{{ data.card_number }}"],
  expiresAt: null,
};

describe("req.bt", () => {
  test("tokenize and detokenize pass the payload and the response unchanged", async () => {
    const payload = { first_name: "A", lastName: { type: "card", data: { number: "4242" } } };
    expect(
      await call(`bt.tokenize(${JSON.stringify(payload)})`, { first_name: "id", lastName: { some_id: 1 } }),
    ).toEqual({
      asked: [["tokenize", payload]],
      got: { first_name: "id", lastName: { some_id: 1 } },
    });
    expect(await call("bt.detokenize({ a_b: '{{ t }}', cD: ['{{ u }}'] })", "text")).toEqual({
      asked: [["detokenize", { a_b: "{{ t }}", cD: ["{{ u }}"] }]],
      got: "text",
    });
  });

  test("tokens.create renames all fields but data and metadata", async () => {
    expect(await call(`bt.tokens.create(${JSON.stringify(guestToken)})`, wireToken)).toEqual({
      asked: [["tokens.create", wireToken]],
      got: guestToken,
    });
  });

  test("tokens.retrieve, update and delete", async () => {
    expect(await call("bt.tokens.retrieve('t/1')", wireToken)).toEqual({
      asked: [["tokens.retrieve", { id: "t/1" }]],
      got: guestToken,
    });
    expect(
      await call(
        "bt.tokens.update('t1', { data: { aB: null }, metadata: { c_d: null }, searchIndexes: [] })",
        wireToken,
      ),
    ).toEqual({
      asked: [
        ["tokens.update", { id: "t1", patch: { data: { aB: null }, metadata: { c_d: null }, search_indexes: [] } }],
      ],
      got: guestToken,
    });
    expect(await call("bt.tokens.delete('t1')", { anything: 1 })).toEqual({
      asked: [["tokens.delete", { id: "t1" }]],
      got: null,
    });
  });

  test("tokens.search and list return pages", async () => {
    const page = { pagination: { total_items: 1, page_number: 1, page_size: 20, total_pages: 1 }, data: [wireToken] };
    const got = { pagination: { totalItems: 1, pageNumber: 1, pageSize: 20, totalPages: 1 }, data: [guestToken] };
    expect(await call("bt.tokens.search({ query: 'data:4242', page: 2, size: 10 })", page)).toEqual({
      asked: [["tokens.search", { query: "data:4242", page: 2, size: 10 }]],
      got,
    });
    expect(
      await call("bt.tokens.list({ id: ['a', 'b'], metadata: { user_Id: '1' }, page: 1, size: 5 })", page),
    ).toEqual({
      asked: [["tokens.list", { id: ["a", "b"], metadata: { user_Id: "1" }, page: 1, size: 5 }]],
      got,
    });
    expect((await call("bt.tokens.list()", page)).asked).toEqual([["tokens.list", {}]]);
  });

  test("concurrent calls get their own responses", async () => {
    const bt = async (_method: BtMethod, args: Json) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      return args;
    };
    const code = exporting("({ bt }) => Promise.all(Array.from({ length: 100 }, (_, i) => bt.tokenize({ i })))");
    expect(await opened.value(code, { hosts: { bt } })).toEqual(Array.from({ length: 100 }, (_, i) => ({ i })));
  });
});

describe("errors of bt", () => {
  const inspecting = exporting(
    "async ({ bt }) => { try { await bt.tokens.retrieve('t1'); } catch (e) { return { error: e instanceof Error, name: e.name, message: e.message, status: e.status, data: e.data }; } }",
  );

  test("a refusal is a BasisTheoryApiError with status and camelCase data", async () => {
    const bt = async () => {
      throw new BtRefusal(403, {
        title: "Forbidden",
        status: 403,
        errors: { "data.number": ["no"], some_field: ["x"] },
      });
    };
    expect(await opened.value(inspecting, { hosts: { bt } })).toEqual({
      error: true,
      name: "BasisTheoryApiError",
      message: "Request failed with status code 403",
      status: 403,
      data: { title: "Forbidden", status: 403, errors: { dataNumber: ["no"], someField: ["x"] } },
    });
  });

  test("any other error reveals nothing of its cause", async () => {
    const bt = async () => {
      throw new Error("password=hunter2 at /srv/vault/store.ts:12");
    };
    const got = await opened.value(inspecting, { hosts: { bt } });
    expect(got).toMatchObject({ name: "BasisTheoryApiError", message: "the call failed", status: -1 });
    expect(JSON.stringify(got)).not.toContain("hunter2");
  });

  test("without an application the host rejects even a guest that creates its own bt", async () => {
    const code = exporting("({ bt }) => typeof bt");
    expect(await opened.value(code)).toBe("undefined");
  });
});
