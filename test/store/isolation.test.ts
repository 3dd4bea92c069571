import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TenantId } from "../../src/base/ids.js";
import { connect } from "../../src/store/postgres/connect.js";
import { defineStatement } from "../../src/store/statements/statement.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { type BatcherFixture, openFixture } from "./support/batcher-fixture.js";
import { insertSamples, tenantTables, writtenColumns } from "./support/samples.js";

let database: TestDatabase;
let fixture: BatcherFixture;
let tables: string[];
/** Two tenants, each with a row in every table. */
let mine: TenantId;
let other: TenantId;

beforeAll(async () => {
  database = await startDatabase();
  fixture = await openFixture(database, { connections: 1 });
  mine = fixture.tenantId;
  other = await fixture.newTenant();
  tables = await tenantTables(database.owner);
  for (const tenantId of [mine, other]) await insertSamples(database, tenantId, tables);
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

/** Any SQL, as a defect or an injection would run it in a shared transaction. */
const raw = defineStatement<string, readonly Record<string, unknown>[], Record<string, unknown>>({
  table: "tenants",
  kind: "write",
  sortKey: (text) => text,
  queries: (sql, _, texts) => texts.map((text) => sql.unsafe<Record<string, unknown>>(text)),
  outputs: (rows) => rows,
});

const asTenant = (tenantId: TenantId, text: string) =>
  fixture.batcher.run(tenantId, undefined, (tx) => tx.query(raw, text));
const REFUSED = expect.objectContaining({
  code: "internal",
  cause: expect.objectContaining({ message: "database 42501" }),
});

async function count(tenantId: TenantId, table: string): Promise<unknown> {
  const [row] = await database.asTenant<{ n: number }>(tenantId, `select count(*)::int as n from ${table}`);
  return row?.n;
}

describe("work of one tenant", () => {
  it("can be tried on every table that holds tenants' rows", () => {
    expect(tables.length).toBeGreaterThanOrEqual(14);
  });

  it("sees its own rows alone, whether it names a tenant or not", async () => {
    for (const table of tables) {
      expect(await asTenant(mine, `select tenant_id from ${table}`), table).toEqual([{ tenant_id: mine }]);
      const others = await asTenant(mine, `select * from ${table} where tenant_id = '${other}'`);
      expect(others, table).toEqual([]);
      const joined = await asTenant(mine, `select 1 from ${table} a join ${table} b on a.tenant_id <> b.tenant_id`);
      expect(joined, table).toEqual([]);
    }
  });

  it("changes and deletes no rows of another tenant", async () => {
    for (const table of tables) {
      await asTenant(mine, `update ${table} set tenant_id = tenant_id where tenant_id = '${other}'`);
      await asTenant(mine, `delete from ${table} where tenant_id = '${other}'`);
      expect(await count(other, table), table).toBe(1);
    }
  });

  it("cannot give a row to another tenant, or create one for it", async () => {
    for (const table of tables) {
      await expect(asTenant(mine, `update ${table} set tenant_id = '${other}'`), table).rejects.toEqual(REFUSED);
      const columns = (await writtenColumns(database.owner, table)).map(({ name }) => name);
      const copy = `insert into ${table} (${columns.join(", ")})
        select ${columns.map((name) => (name === "tenant_id" ? `'${other}'` : name)).join(", ")} from ${table}`;
      await expect(asTenant(mine, copy), table).rejects.toEqual(REFUSED);
      expect([await count(mine, table), await count(other, table)], table).toEqual([1, 1]);
    }
  });

  it("cannot truncate a table, alter it, or drop its policies", async () => {
    for (const table of tables) {
      for (const text of [
        `truncate ${table}`,
        `alter table ${table} disable row level security`,
        `drop policy of_tenant on ${table}`,
        `drop table ${table}`,
      ]) {
        await expect(asTenant(mine, text), text).rejects.toEqual(REFUSED);
      }
    }
  });

  it("leaves nothing behind on the connection for the next tenant", async () => {
    const current = "select current_setting('app.tenant_id', true) as tenant, current_user as role";
    expect(await asTenant(mine, current)).toEqual([{ tenant: mine, role: "cloakroom_app" }]);
    expect(await asTenant(other, current)).toEqual([{ tenant: other, role: "cloakroom_app" }]);
    expect(await asTenant(other, "select tenant_id from tokens")).toEqual([{ tenant_id: other }]);
  });

  it("leaves nothing behind either if it failed or was rolled back", async () => {
    await expect(asTenant(mine, "select 1/0 from nowhere")).rejects.toThrow();
    expect(await asTenant(other, "select tenant_id from tokens")).toEqual([{ tenant_id: other }]);
  });

  it("deletes its own rows and no others without a where clause", async () => {
    await using scene = await openFixture(database, { connections: 1 });
    await insertSamples(database, scene.tenantId, tables);
    const run = (text: string) => scene.batcher.run(scene.tenantId, undefined, (tx) => tx.query(raw, text));
    for (const table of tables) await run(`delete from ${table}`);
    for (const table of tables) {
      expect(await count(scene.tenantId, table), table).toBe(0);
      expect([await count(mine, table), await count(other, table)], table).toEqual([1, 1]);
    }
  });
});

describe("a statement outside of a transaction", () => {
  it("finds nothing and stores nothing, on a new connection and on one that has served a tenant", async () => {
    const sql = connect(database.address, { role: "cloakroom_app", connections: 1, statementTimeout: 5_000 });
    try {
      for (const round of ["new", "used"]) {
        for (const table of tables) {
          expect(await sql.unsafe(`select 1 from ${table}`), `${table}, ${round}`).toHaveLength(0);
          expect((await sql.unsafe(`delete from ${table}`)).count, `${table}, ${round}`).toBe(0);
        }
        const orphan = sql`insert into due (tenant_id, kind, due_at) values (${mine}, 'orphan', ${new Date(0)})`;
        await expect(orphan).rejects.toMatchObject({ code: "42501" });
        await sql.begin((tx) => tx.unsafe(`set local app.tenant_id = '${mine}'`));
      }
    } finally {
      await sql.end();
    }
  });
});

describe("cloakroom_jobs", () => {
  it("sees which tenant has something to sweep when, of all tenants, and nothing else at all", async () => {
    const sql = connect(database.address, { role: "cloakroom_jobs", connections: 1, statementTimeout: 5_000 });
    try {
      const due = await sql<{ tenant_id: string }[]>`select distinct tenant_id from due`;
      expect(due.map(({ tenant_id }) => tenant_id)).toEqual(expect.arrayContaining([mine, other]));
      const rest = [...tables.filter((table) => table !== "due"), "root_keys", "leases", "migrations"];
      for (const table of rest) {
        await expect(sql.unsafe(`select 1 from ${table}`), table).rejects.toMatchObject({ code: "42501" });
      }
      for (const text of [
        "insert into due select * from due",
        "update due set kind = kind",
        "delete from due",
        "truncate due",
        "select 1 from due for update",
      ]) {
        await expect(sql.unsafe(text), text).rejects.toMatchObject({ code: "42501" });
      }
    } finally {
      await sql.end();
    }
  });
});
