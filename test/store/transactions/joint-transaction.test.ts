import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid, type TenantId } from "../../../src/base/ids.js";
import { type Database, openDatabase } from "../../../src/store/database.js";
import { defineRows } from "../../../src/store/statements/row-statements.js";
import { insertTenant, readTenant } from "../../../src/store/tenancy/tenants.js";
import type { Transaction } from "../../../src/store/transactions/transaction.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { insertNamedRow } from "../support/named-rows.js";

let stored: TestDatabase;
let database: Database;
beforeAll(async () => {
  stored = await startDatabase();
  const { address } = stored;
  database = openDatabase({ address, sharedConnections: 1, bulkConnections: 1, clock: systemClock });
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await stored?.[Symbol.asyncDispose]();
});

async function newTenants(count: number): Promise<TenantId[]> {
  const ids = Array.from({ length: count }, () => newTenantId()).sort();
  await database.jointly(
    ids.map((tenantId) => ({
      tenantId,
      work: async (tx) => tx.enqueue(insertTenant, { name: `of ${tenantId}`, owner_id: newUuid(), settings: {} }),
    })),
  );
  return ids;
}

const namesOf = async (tenantId: TenantId) =>
  (await stored.asTenant<{ kind: string }>(tenantId, "select kind from due order by kind")).map(({ kind }) => kind);

/** Lists tenants without naming one: row-level security alone decides what is seen. */
const everyTenant = defineRows<"all", { readonly id: string }>(
  "tenants",
  (sql) => sql`select tenant_id as id from tenants`,
);

describe("a transaction over several tenants", () => {
  it("shows each work its own tenant's rows alone, in every step", async () => {
    const ids = await newTenants(5);
    const work = async (tx: Transaction) => {
      const [before, own] = [await tx.query(everyTenant, "all"), await tx.query(readTenant, tx.tenantId)];
      const after = await tx.query(everyTenant, "all");
      return { seen: [...before, ...after].map(({ id }) => id), name: own?.name };
    };
    expect(await database.jointly(ids.map((tenantId) => ({ tenantId, work })))).toEqual(
      ids.map((id) => ({ seen: [id, id], name: `of ${id}` })),
    );
  });

  it("writes to each tenant what its work writes", async () => {
    const ids = await newTenants(3);
    const work = async (tx: Transaction) => tx.enqueue(insertNamedRow, `row of ${tx.tenantId}`);
    await database.jointly(ids.map((tenantId) => ({ tenantId, work })));
    for (const id of ids) expect(await namesOf(id)).toEqual([`row of ${id}`]);
  });

  it.each([
    ["a work throws after its query", async (tx: Transaction) => tx.query(readTenant, tx.tenantId).then(() => fail())],
    ["a work throws at once", async () => fail()],
    [
      "a statement fails",
      async (tx: Transaction) => {
        tx.enqueue(insertNamedRow, "twice");
        tx.enqueue(insertNamedRow, "twice");
      },
    ],
    ["a work awaits something else", () => new Promise<void>(() => {})],
  ])("stores nothing of any tenant if %s, and the next one runs", async (_, failing) => {
    const [first, second, third] = await newTenants(3);
    if (!first || !second || !third) throw new Error("no tenants");
    const write = async (tx: Transaction) => {
      await tx.query(readTenant, tx.tenantId);
      tx.enqueue(insertNamedRow, "written");
    };
    const works = [
      { tenantId: first, work: write },
      { tenantId: second, work: failing },
      { tenantId: third, work: write },
    ];
    await expect(database.jointly<unknown>(works)).rejects.toThrow();
    for (const id of [first, second, third]) expect(await namesOf(id)).toEqual([]);
    await database.jointly(works.map(({ tenantId }) => ({ tenantId, work: write })));
    for (const id of [first, second, third]) expect(await namesOf(id)).toEqual(["written"]);
  });

  it("runs after another that was given at the same time", async () => {
    const ids = await newTenants(2);
    const rounds = ["one", "two", "three"].map((name) =>
      database.jointly(ids.map((tenantId) => ({ tenantId, work: async (tx) => tx.enqueue(insertNamedRow, name) }))),
    );
    await Promise.all(rounds);
    for (const id of ids) expect(await namesOf(id)).toEqual(["one", "three", "two"]);
  });
});

function fail(): never {
  throw new Error("a work that fails");
}
