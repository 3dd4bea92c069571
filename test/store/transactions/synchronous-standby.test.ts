import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logEntry } from "../../../src/audit/log-entry.js";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid, type TenantId } from "../../../src/base/ids.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { closeFreeLog, closeLog } from "../../../src/store/audit/audit-seals.js";
import { openDatabase } from "../../../src/store/database.js";
import { migrate } from "../../../src/store/migrate.js";
import { connect, type DatabaseAddress, type Sql } from "../../../src/store/postgres/connect.js";
import { ConnectionSlot } from "../../../src/store/postgres/connection-slot.js";
import { insertTenant } from "../../../src/store/tenancy/tenants.js";
import { SHARED_LIMITS } from "../../../src/store/transactions/batch-limits.js";
import { commitLookupIn } from "../../../src/store/transactions/commit-lookup.js";
import { standbyWaitIn } from "../../../src/store/transactions/standby-wait.js";
import type { Transaction } from "../../../src/store/transactions/transaction.js";
import { TransactionBatcher } from "../../../src/store/transactions/transaction-batcher.js";
import { asTenant } from "../../support/databases.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { insertNamedRow, ROW_TIME } from "../support/named-rows.js";

/** Milliseconds without a response after which callers get an error. */
const LATE_MS = 1_500;

let cluster: PostgresCluster;
let address: DatabaseAddress;
let batcher: TransactionBatcher;
let tenantId: TenantId;
let runs = 0;
beforeAll(async () => {
  cluster = await PostgresCluster.start();
  address = { url: await cluster.login("vault", { attributes: "createrole" }) };
  await migrate(address);
  // What an administrator may have set for the login: warnings must reach us all the same.
  await cluster.admin`alter role vault set client_min_messages = error`;
  tenantId = newTenantId();
  const first = newBatcher();
  await first.run(tenantId, undefined, async (tx) => {
    tx.enqueue(insertTenant, { name: "Test", owner_id: newUuid(), settings: {} });
  });
  await first.close();
});
afterAll(async () => {
  await batcher?.close();
  await cluster?.[Symbol.asyncDispose]();
});

/** With one connection. */
function newBatcher(): TransactionBatcher {
  return new TransactionBatcher(
    [new ConnectionSlot(address, { role: "cloakroom_app", statementTimeout: 5_000 })],
    { ...SHARED_LIMITS, timeoutMs: LATE_MS, retryDelays: [0, 5] },
    systemClock,
    { wasCommitted: commitLookupIn(address, LATE_MS), waitsForStandby: standbyWaitIn(address) },
  );
}

/** Stores a row with its log row, as every request does. */
const insert = (name: string) =>
  batcher.run(tenantId, 1, async (tx) => {
    runs += 1;
    tx.enqueue(insertNamedRow, name);
    writeLog(tx, logEntry("token", name, "create"));
  });

const waitingBackends = () =>
  cluster.admin<{ pid: number }[]>`select pid from pg_stat_activity where wait_event = 'SyncRep'`;

async function oneBackendWaits(): Promise<number> {
  await expect.poll(async () => (await waitingBackends()).length).toBe(1);
  const [backend] = await waitingBackends();
  return backend?.pid ?? 0;
}

/** Commits from now on wait for a standby that does not exist, on a new connection. Returns a function that ends that. */
async function withoutItsStandby(): Promise<() => Promise<void>> {
  await cluster.waitForStandbys("missing");
  await expect
    .poll(async () => (await cluster.admin`show synchronous_standby_names`)[0]?.synchronous_standby_names)
    .toBe("missing");
  await batcher?.close();
  batcher = newBatcher();
  return async () => {
    await cluster.waitForStandbys("");
    await expect.poll(async () => (await waitingBackends()).length).toBe(0);
  };
}

it("a commit that closes logs waits for no standby: writers get their tenants' rows back at once", async () => {
  const standbyReturns = await withoutItsStandby();
  await using database = openDatabase({ address, sharedConnections: 1, bulkConnections: 1, clock: systemClock });
  const closing = { until: ROW_TIME, notBefore: ROW_TIME };
  const together = [{ tenantId, work: (tx: Transaction) => tx.query(closeFreeLog, closing) }];
  expect(await database.jointly(together, { mayBeLost: true })).toEqual([true]);
  expect(await database.of(tenantId).bulk((tx) => tx.query(closeLog, closing))).toBe(true);
  expect(await waitingBackends()).toEqual([]);
  // Others do wait.
  const durable = database.jointly(together);
  await oneBackendWaits();
  await standbyReturns();
  expect(await durable).toEqual([true]);
});

const UNAVAILABLE = { name: "Fault", code: "unavailable" };

describe("a commit that waits for a standby", () => {
  it("is a 503, keeps its connection, and is stored once when the standby returns", async () => {
    const standbyReturns = await withoutItsStandby();
    runs = 0;
    await expect(insert("waits")).rejects.toMatchObject(UNAVAILABLE);
    await oneBackendWaits();
    const [before] = await waitingBackends();
    await standbyReturns();
    await insert("next");
    expect(runs).toBe(2);
    expect(await stored()).toEqual(["next", "waits"]);
    const [after] = await cluster.admin<{ pid: number }[]>`
      select pid from pg_stat_activity where usename = 'vault' and query = 'commit'`;
    expect(after?.pid).toBe(before?.pid);
  });

  it.each([
    ["cancelled", "pg_cancel_backend"],
    ["ended with its process", "pg_terminate_backend"],
  ])("is no success if its wait is %s: a failover may lose it", async (how, end) => {
    const standbyReturns = await withoutItsStandby();
    const inserting = insert(how);
    const outcome = expect(inserting).rejects.toMatchObject(UNAVAILABLE);
    await cluster.admin.unsafe(`select ${end}(${await oneBackendWaits()})`);
    await outcome;
    await standbyReturns();
    expect(await stored()).toContain(how);
  });
});

describe("a change of a command whose wait for a standby is cancelled", () => {
  it.each([
    ["a transaction", (owner: Sql) => owner.begin((tx) => tx`create table first (id int)`)],
    ["one statement", (owner: Sql) => owner`create table second (id int)`],
  ])("is an error of the command: %s", async (_, change) => {
    const standbyReturns = await withoutItsStandby();
    const owner = connect(address, { connections: 1, statementTimeout: 5_000 });
    try {
      const outcome = expect(change(owner)).rejects.toMatchObject({ name: "UnconfirmedCommit" });
      await cluster.admin`select pg_cancel_backend(${await oneBackendWaits()}::int)`;
      await outcome;
      expect(await owner`select 1 as one`).toEqual([{ one: 1 }]);
    } finally {
      await standbyReturns();
      await owner.end();
    }
  });
});

async function stored(): Promise<string[]> {
  const owner = connect({ url: cluster.url("vault", "vault") }, { connections: 1, statementTimeout: 5_000 });
  const rows = await asTenant<{ kind: string }>(
    owner,
    tenantId,
    `select kind from due where due_at = '${ROW_TIME.toISOString()}' order by kind`,
  );
  await owner.end();
  return rows.map(({ kind }) => kind);
}
