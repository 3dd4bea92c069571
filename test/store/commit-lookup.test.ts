import { afterAll, beforeAll, expect, it } from "vitest";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { commitLookupIn, type UnknownCommit } from "../../src/store/commit-lookup.js";
import { connectOnce } from "../../src/store/one-connection.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/**
 * A transaction that has written its log row, and whose commit is still on its way. On Citus that is the worker's part
 * of a transaction, which goes on after the coordinator's process has ended: no process of that id is found here.
 */
async function onItsWay() {
  const commit: UnknownCommit = {
    ...{ tenantId: newTenantId(), marker: { createdAt: new Date(), id: newUuid() } },
    backend: 2_147_483_647,
  };
  const { tenantId, marker } = commit;
  const other = connectOnce(database.address, { role: "cloakroom_app", statementTimeout: 20_000, connectTimeout: 5 });
  await other.sql.unsafe("begin");
  await other.sql.unsafe(`set local app.tenant_id = '${tenantId}'`);
  await other.sql`
    insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message)
    values (${tenantId}, ${marker.createdAt}, ${marker.id}, 'token', 'x', 'create', '')`;
  return { commit, end: (how: "commit" | "rollback") => other.sql.unsafe(how), drop: () => other.drop() };
}

const logRows = async ({ tenantId }: UnknownCommit) => {
  const { sql, drop } = connectOnce(database.address, { role: "cloakroom_app", statementTimeout: 5_000 });
  const [, , rows] = await Promise.all([
    sql.unsafe("begin"),
    sql.unsafe(`set local app.tenant_id = '${tenantId}'`),
    sql`select 1 from audit_logs where tenant_id = ${tenantId}`,
    sql.unsafe("commit"),
  ]);
  drop();
  return rows.length;
};

it.each([
  ["commit", true, 1],
  ["rollback", false, 0],
] as const)("a look-up waits for a transaction that may still end by %s", async (how, isStored, rows) => {
  const { commit, end, drop } = await onItsWay();
  let isAnswered = false;
  const looking = commitLookupIn(database.address)(commit).finally(() => {
    isAnswered = true;
  });
  await waitsForALock();
  expect(isAnswered).toBe(false);
  await end(how);
  expect(await looking).toBe(isStored);
  expect(await logRows(commit)).toBe(rows);
  drop();
});

it("a look-up fails while the transaction goes on, and leaves nothing behind", async () => {
  const { commit, end, drop } = await onItsWay();
  await expect(commitLookupIn(database.address)(commit)).rejects.toThrow();
  await end("commit");
  expect(await commitLookupIn(database.address)(commit)).toBe(true);
  expect(await logRows(commit)).toBe(1);
  drop();
});

async function waitsForALock(): Promise<void> {
  await expect
    .poll(
      async () => {
        const [row] = await database.owner<{ n: number }[]>`
          select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%audit_logs%'`;
        return row?.n;
      },
      { timeout: 10_000, interval: 20 },
    )
    .toBe(1);
}
