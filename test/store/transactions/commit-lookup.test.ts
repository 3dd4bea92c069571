import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newTenantId, newUuid } from "../../../src/base/ids.js";
import { migrate } from "../../../src/store/migrate.js";
import type { DatabaseAddress } from "../../../src/store/postgres/connect.js";
import { connectOnce } from "../../../src/store/postgres/one-connection.js";
import { commitLookupIn, type MarkedRow } from "../../../src/store/transactions/commit-lookup.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** Looks up a single row. */
const lookUp =
  (address: DatabaseAddress) =>
  async (row: MarkedRow): Promise<boolean | undefined> => {
    const [found] = await commitLookupIn(address)({ rows: [row], backend: 2_147_483_647 });
    return found;
  };

/**
 * A transaction that has written its log row, and whose commit is still on its way. On Citus that is the worker's part
 * of a transaction, which goes on after the coordinator's process has ended: no process of that id is found here.
 */
async function onItsWay(address: DatabaseAddress = database.address) {
  const commit: MarkedRow = { tenantId: newTenantId(), marker: { createdAt: new Date(), id: newUuid() } };
  const { tenantId, marker } = commit;
  const other = connectOnce(address, { role: "cloakroom_app", statementTimeout: 20_000, connectTimeout: 5 });
  await other.sql.unsafe("begin");
  await other.sql.unsafe(`set local app.tenant_id = '${tenantId}'`);
  await other.sql`
    insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
    values (${tenantId}, ${marker.createdAt}, ${marker.id}, 'token', 'x', 'create', '', 'allowed')`;
  return { commit, end: (how: "commit" | "rollback") => other.sql.unsafe(how), drop: () => other.drop() };
}

const logRows = async ({ tenantId }: MarkedRow, address: DatabaseAddress = database.address) => {
  const { sql, drop } = connectOnce(address, { role: "cloakroom_app", statementTimeout: 5_000 });
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
  let hasResult = false;
  const looking = lookUp(database.address)(commit).finally(() => {
    hasResult = true;
  });
  await waitsForALock();
  expect(hasResult).toBe(false);
  await end(how);
  expect(await looking).toBe(isStored);
  expect(await logRows(commit)).toBe(rows);
  drop();
});

it("a look-up fails while the transaction goes on, and leaves nothing behind", async () => {
  const { commit, end, drop } = await onItsWay();
  await expect(lookUp(database.address)(commit)).rejects.toThrow();
  await end("commit");
  expect(await lookUp(database.address)(commit)).toBe(true);
  expect(await logRows(commit)).toBe(1);
  drop();
});

it.each([
  ["commit", true, 1],
  ["rollback", false, 0],
] as const)(
  "a look-up finds how a transaction ended by %s whose minute was closed since",
  async (how, isStored, rows) => {
    const { commit, end, drop } = await onItsWay();
    await end(how);
    drop();
    await database.asTenant(
      commit.tenantId,
      `insert into tenants (tenant_id, name, owner_id, settings, state, auth_revision, event_types, created_at, audit_closed_until)
     values ('${commit.tenantId}', '', '${newUuid()}', '{}', 'active', 1, '{}', now(), now() + interval '1 hour')`,
    );
    expect(await lookUp(database.address)(commit)).toBe(isStored);
    expect(await logRows(commit)).toBe(rows);
  },
);

it("a look-up of several rows answers for each", async () => {
  const [stored, discarded, alsoStored] = [await onItsWay(), await onItsWay(), await onItsWay()];
  await Promise.all([stored.end("commit"), discarded.end("rollback"), alsoStored.end("commit")]);
  for (const { drop } of [stored, discarded, alsoStored]) drop();
  const rows = [stored, discarded, alsoStored].map(({ commit }) => commit);
  const found = await commitLookupIn(database.address)({ rows, backend: 2_147_483_647 });
  expect(found).toEqual([true, false, true]);
});

it("a look-up in a database that takes no writes finds a commit, and leaves the absence of one unknown", async () => {
  const [stored, discarded] = [await onItsWay(), await onItsWay()];
  await stored.end("commit");
  await discarded.end("rollback");
  for (const { drop } of [stored, discarded]) drop();
  await setReadOnly("on");
  try {
    expect(await lookUp(database.address)(stored.commit)).toBe(true);
    await expect(lookUp(database.address)(discarded.commit)).rejects.toMatchObject({ code: "25006" });
  } finally {
    await setReadOnly("off");
  }
  expect(await lookUp(database.address)(discarded.commit)).toBe(false);
});

it("a look-up does not take the row of one server for that of another, nor one that a standby has", async () => {
  await using primary = await PostgresCluster.start({ settings: { max_wal_senders: "2" } });
  const url = await primary.login("vault", { attributes: "createrole" });
  await migrate({ url });
  await using standby = await primary.addStandby();
  const { commit, end, drop } = await onItsWay({ url });
  await end("commit");
  drop();
  const ofStandby = { url: standby.url("vault", "vault") };
  await expect.poll(() => logRows(commit, ofStandby)).toBe(1);
  await expect(lookUp(ofStandby)(commit)).rejects.toThrow("the database is a standby");
  expect(await lookUp({ url })(commit)).toBe(true);
  // A balancer that gives each connection another server.
  const sockets: Socket[] = [];
  const balancer = createServer((client) => {
    const server = createConnection(sockets.length % 4 === 0 ? primary.port : standby.port, "127.0.0.1");
    sockets.push(client, server);
    client.on("error", () => server.destroy()).pipe(server);
    server.on("error", () => client.destroy()).pipe(client);
  }).listen(0, "127.0.0.1");
  await once(balancer, "listening");
  const place = balancer.address();
  const port = typeof place === "object" && place ? place.port : 0;
  const balanced = { url: url.replace(`:${primary.port}/`, `:${port}/`) };
  await expect(lookUp(balanced)(commit)).rejects.toThrow("the address leads to several servers");
  for (const socket of sockets) socket.destroy();
  balancer.close();
});

/** For sessions that start from now on. */
async function setReadOnly(state: "on" | "off"): Promise<void> {
  await database.owner.begin("read write", async (tx) => {
    const [row] = await tx<{ name: string }[]>`select current_database() as name`;
    await tx.unsafe(`alter database "${row?.name}" set default_transaction_read_only = ${state}`);
  });
}

async function waitsForALock(): Promise<void> {
  await expect
    .poll(
      async () => {
        const [row] = await database.owner<{ n: number }[]>`
          select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%audit_logs%'`;
        return row?.n;
      },
      { interval: 20 },
    )
    .toBe(1);
}
