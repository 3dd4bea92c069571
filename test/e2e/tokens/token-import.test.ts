import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const RIGHTS = ["token:import", "token:create", "token:read", "token:search"];
const NUMBER = "4242424242424242";

const card = (number: string, others: object = {}) => ({
  type: "card",
  data: { number, expiration_month: 12, expiration_year: 2030 },
  ...others,
});
const text = (value: string, others: object = {}) => ({ type: "token", data: value, ...others });

let tenant: TestTenant;
let client: RestClient & { readonly id: string };
let stored: Stored;
let imports = 0;
const newImport = () => {
  imports += 1;
  return `import ${imports}`;
};
const send = (import_id: string, position: number, rows: readonly unknown[], as: RestClient = client) =>
  as("POST", "/tokens/import", { body: { import_id, position, rows } });
beforeAll(async () => {
  tenant = await newTenant();
  client = await tenant.application({ type: "private", permissions: RIGHTS });
  stored = await openStored();
});
afterAll(() => stored?.[Symbol.asyncDispose]());
const tokens = async () => (await stored.counts(tenant.id)).tokens;

describe("a batch of an import", () => {
  it("stores its rows with ids, containers, metadata, expiry and fingerprints", async () => {
    const given = { id: "imported-one", containers: ["/pci/high/"], metadata: { order: "17" } };
    const { status, body } = await send(newImport(), 1, [
      card(NUMBER, { ...given, expires_at: "2099-01-01T00:00:00+01:00", fingerprint_expression: "{{ data.number }}" }),
    ]);
    expect({ status, body }).toEqual({
      status: 200,
      body: { results: [{ position: 1, id: "imported-one", fingerprint: expect.any(String) }] },
    });
    const { body: token } = await client("GET", "/tokens/imported-one");
    expect(token).toMatchObject({
      ...given,
      expires_at: "2099-01-01T00:00:00+01:00",
      data: { number: "XXXXXXXXXXXX4242" },
    });
  });

  it("names the field of each row with a problem, and stores the others", async () => {
    const before = await tokens();
    const { status, body } = await send(newImport(), 101, [
      text("good"),
      card("4242424242424241"),
      null,
      { type: "card", data: { number: NUMBER, cvc: "123" } },
      text("taken", { id: "taken-id" }),
      text("taken again", { id: "taken-id" }),
      { type: "nothing", data: "x" },
      text("no container", { containers: ["x"] }),
    ]);
    expect(status).toBe(200);
    const shown = body.results.map((row: { position: number; error?: { field: string; code: string } }) => [
      row.position,
      row.error?.code,
      row.error?.field,
    ]);
    const wrong = (field: string) => ["validation_failed", field];
    expect(shown).toEqual([
      [101, undefined, undefined],
      [102, ...wrong("data.number")],
      [103, ...wrong("type")],
      [104, ...wrong("data.cvc")],
      [105, undefined, undefined],
      [106, "already_exists", "id"],
      [107, ...wrong("type")],
      [108, ...wrong("containers[0]")],
    ]);
    expect((await tokens()) - before).toBe(2);
    expect(JSON.stringify(body)).not.toContain("4242424242424241");
  });

  it("is answered with the same ids when it is sent again, also with duplicates and errors in it", async () => {
    const id = newImport();
    const rows = [
      card(NUMBER, { deduplicate_token: true }),
      card(NUMBER, { deduplicate_token: true }),
      null,
      text("a"),
    ];
    const first = await send(id, 1, rows);
    const before = await tokens();
    expect(first.body.results[0].id).toBe(first.body.results[1].id);
    expect(first.body.results.map(({ deduplicated }: { deduplicated?: boolean }) => deduplicated)).toContain(true);
    const again = await Promise.all([send(id, 1, rows), send(id, 1, rows)]);
    for (const { status, body } of again) expect({ status, body }).toEqual({ status: 200, body: first.body });
    expect(await tokens()).toBe(before);
  });

  it("shows the ids of a batch that is sent again only where the application may still create tokens", async () => {
    const rule = (container: string, priority: number) => ({
      ...{ container, priority, transform: "mask", permissions: ["token:create"] },
    });
    const permissions = ["token:import"];
    const rules = [rule("/kept/", 1), rule("/lost/", 2)];
    const importer = await tenant.application({ type: "private", permissions, rules });
    const rows = [text("one", { containers: ["/kept/"] }), text("two", { containers: ["/lost/"] })];
    const name = newImport();
    const { body: first } = await send(name, 1, rows, importer);
    expect(first.results.map(({ id }: { id?: string }) => typeof id)).toEqual(["string", "string"]);
    const body = { name: "Importer", type: "private", permissions, rules: rules.slice(0, 1) };
    expect((await tenant.manage("PUT", `/applications/${importer.id}`, { body })).status).toBe(200);
    const { body: again } = await send(name, 1, rows, importer);
    expect(again.results).toEqual([
      first.results[0],
      { position: 2, error: expect.objectContaining({ code: "permission_denied" }) },
    ]);
    const { body: log } = await tenant.manage("GET", `/logs?entity_id=${first.results[1].id}`);
    expect(log.data.map(({ operation }: { operation: string }) => operation)).toContain("refuse");
  });

  it("is stored once by two runs at the same time", async () => {
    const id = newImport();
    const before = await tokens();
    const rows = Array.from({ length: 100 }, (_, index) => text(`twin ${index}`));
    const [one, other] = await Promise.all([send(id, 1, rows), send(id, 1, rows)]);
    expect([one?.status, other?.status]).toEqual([200, 200]);
    expect(other?.body).toEqual(one?.body);
    expect((await tokens()) - before).toBe(100);
  });

  it("is refused with other rows at a position that is stored, and then changes nothing", async () => {
    const id = newImport();
    await send(id, 1, [text("first")]);
    const before = await tokens();
    const { status, body } = await send(id, 1, [text("second")]);
    expect([status, body.code]).toEqual([409, "conflict"]);
    expect(await tokens()).toBe(before);
  });

  it("belongs to the application that sent it", async () => {
    const id = newImport();
    const other = await tenant.application({ type: "private", permissions: RIGHTS });
    const [mine, theirs] = [await send(id, 1, [text("mine")]), await send(id, 1, [text("theirs")], other)];
    expect(theirs.status).toBe(200);
    expect(theirs.body.results[0].id).not.toBe(mine.body.results[0].id);
  });

  it.each([
    ["a position within a batch", { position: 2 }, "position"],
    ["a position before the first", { position: 0 }, "position"],
    ["a position beyond the last", { position: 2_147_483_601 }, "position"],
    ["no id", { import_id: "" }, "import_id"],
    ["no rows", { rows: [] }, "rows"],
    ["too many rows", { rows: new Array(101).fill(null) }, "rows"],
  ])("is refused with %s", async (_, wrong, field) => {
    const { status, body } = await client("POST", "/tokens/import", {
      body: { import_id: newImport(), position: 1, rows: [text("x")], ...wrong },
    });
    expect(status).toBe(400);
    expect(Object.keys(body.errors)).toEqual([field]);
  });

  it("needs token:import, and stores rows only where token:create allows it", async () => {
    const plain = await tenant.application({ type: "private", permissions: ["token:create"] });
    expect((await send(newImport(), 1, [text("x")], plain)).status).toBe(403);
    const rules = [{ priority: 1, container: "/in/", transform: "mask", permissions: ["token:create"] }];
    const limited = await tenant.application({ type: "private", permissions: ["token:import"], rules });
    const rows = [text("x", { containers: ["/in/"] }), text("x", { containers: ["/out/"] })];
    const { body } = await send(newImport(), 1, rows, limited);
    expect(body.results[0].id).toEqual(expect.any(String));
    expect(body.results[1].error.code).toBe("permission_denied");
    const { body: log } = await tenant.manage("GET", "/logs?size=20");
    const ours = log.data.filter(({ actor_id }: { actor_id: string }) => actor_id === limited.id);
    expect(ours.map(({ operation, message }: { operation: string; message: string }) => [operation, message])).toEqual(
      expect.arrayContaining([
        ["import", "Token imported: 1 of 2 rows"],
        ["create", "Token created"],
        ["refuse", "Token refused: token:create"],
      ]),
    );
  });

  it("is refused to a public application, whose key is in web pages", async () => {
    const { status } = await tenant.manage("POST", "/applications", {
      body: { name: "Page", type: "public", permissions: ["token:import", "token:create"] },
    });
    expect(status).toBe(400);
  });
});

describe("an import that is interrupted", () => {
  it("stores every row once, whichever batches are sent again in whichever order", async () => {
    const size = 250;
    const all = Array.from({ length: size }, (_, index) => text(`row ${index}`, index % 50 === 7 ? { id: "!" } : {}));
    const batches = [1, 101, 201].map((position) => ({ position, rows: all.slice(position - 1, position + 99) }));
    const orders = fc.array(fc.nat(2), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(orders, async (order) => {
        const id = newImport();
        const before = await tokens();
        const seen = new Map<number, unknown>();
        for (const index of [...order, 0, 1, 2]) {
          const { position, rows } = batches[index] ?? { position: 1, rows: [] };
          const { status, body } = await send(id, position, rows);
          expect(status).toBe(200);
          for (const row of body.results) {
            if (seen.has(row.position)) expect(row).toEqual(seen.get(row.position));
            seen.set(row.position, row);
          }
        }
        expect([...seen.keys()].toSorted((a, b) => a - b)).toEqual(all.map((_, index) => index + 1));
        expect((await tokens()) - before).toBe(size - size / 50);
      }),
      { numRuns: 10 },
    );
  });
});

describe("an export", () => {
  it("shows all tokens of a container by pages, as token:export shows them, and leaves a row with their number", async () => {
    const own = await newTenant();
    const rules = [{ priority: 1, container: "/pci/", transform: "reveal", permissions: ["token:export"] }];
    const permissions = ["token:import", "token:create"];
    const reader = await own.application({ type: "private", permissions, rules });
    const rows = Array.from({ length: 5 }, (_, index) => text(`value ${index}`, { containers: ["/pci/a/"] }));
    await send("in", 1, [...rows, text("outside", { containers: ["/other/"] })], reader);
    const found: string[] = [];
    let start: string | undefined;
    do {
      const { status, body } = await reader("POST", "/tokens/export", { body: { container: "/pci/", size: 2, start } });
      expect(status).toBe(200);
      found.push(...body.data.map(({ data }: { data: string }) => data));
      start = body.pagination.next;
    } while (start !== undefined);
    expect(found.toSorted()).toEqual(rows.map(({ data }) => data));
    const { body: log } = await own.manage("GET", "/logs?size=50");
    const exported = log.data.filter(({ operation }: { operation: string }) => operation === "export");
    expect(exported.map(({ message }: { message: string }) => message)).toEqual([
      "Token exported: 1 tokens",
      "Token exported: 2 tokens",
      "Token exported: 2 tokens",
    ]);
    expect(log.data.filter(({ operation }: { operation: string }) => operation === "read")).toHaveLength(5);
  });

  it("needs token:export", async () => {
    const lacking = await tenant.application({ type: "private", permissions: ["token:read", "token:search"] });
    expect((await lacking("POST", "/tokens/export", { body: {} })).status).toBe(403);
  });
});
