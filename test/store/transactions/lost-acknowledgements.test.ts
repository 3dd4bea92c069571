// Waits: 12 s
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { logEntry } from "../../../src/audit/log-entry.js";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid, type TenantId } from "../../../src/base/ids.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { migrate } from "../../../src/store/migrate.js";
import { connect, type DatabaseAddress } from "../../../src/store/postgres/connect.js";
import { ConnectionSlot } from "../../../src/store/postgres/connection-slot.js";
import { insertTenant } from "../../../src/store/tenancy/tenants.js";
import { SHARED_LIMITS } from "../../../src/store/transactions/batch-limits.js";
import { commitLookupIn } from "../../../src/store/transactions/commit-lookup.js";
import { standbyWaitIn } from "../../../src/store/transactions/standby-wait.js";
import { TransactionBatcher } from "../../../src/store/transactions/transaction-batcher.js";
import { asTenant } from "../../support/databases.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { insertIfFree, ROW_TIME } from "../support/named-rows.js";

/** Rounds of faults. More of them search further: 100 take three minutes. */
const ROUNDS = Number(process.env.FAILOVER_ROUNDS ?? 8);
const WRITERS = 6;
const LATE_MS = 200;
/** What an administrator may have set for the login: warnings must reach us all the same. */
const QUIET = "alter role vault set client_min_messages = error";

let primary: PostgresCluster;
let standby: PostgresCluster;
let batcher: TransactionBatcher;
let tenantId: TenantId;
const acknowledged = new Set<string>();
let written = 0;
let isOver = false;
let writers: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  primary = await PostgresCluster.start({ settings: { max_wal_senders: "4", wal_sender_timeout: "1s" } });
  const url = await primary.login("vault", { attributes: "createrole" });
  await migrate({ url });
  await primary.admin.unsafe(QUIET);
  standby = await primary.addStandby();
  await primary.waitForStandbys("*");
  // Connections go to the first host that accepts them: to the standby while the primary is away.
  const both = { url: url.replace(`127.0.0.1:${primary.port}`, `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`) };
  batcher = batcherAt(both);
  tenantId = newTenantId();
  await batcher.run(tenantId, undefined, async (tx) => {
    tx.enqueue(insertTenant, { name: "Test", owner_id: newUuid(), settings: {} });
  });
  writers = Promise.all(Array.from({ length: WRITERS }, () => writeOn()));
});
afterAll(async () => {
  isOver = true;
  await batcher?.close();
  await writers;
  await standby?.[Symbol.asyncDispose]();
  await primary?.[Symbol.asyncDispose]();
});

function batcherAt(address: DatabaseAddress): TransactionBatcher {
  const slots = Array.from(
    { length: 4 },
    () => new ConnectionSlot(address, { role: "cloakroom_app", statementTimeout: 1_000, connectTimeout: 1 }),
  );
  const limits = { ...SHARED_LIMITS, timeoutMs: LATE_MS, retryDelays: [0, 20, 100] };
  const unsure = { wasCommitted: commitLookupIn(address, LATE_MS), waitsForStandby: standbyWaitIn(address) };
  return new TransactionBatcher(slots, limits, systemClock, unsure);
}

/** Stores rows and repeats what is refused, as a client with an idempotency key does. */
async function writeOn(): Promise<void> {
  while (!isOver) {
    written += 1;
    const name = `row-${written}`;
    for (let left = 3; left > 0 && !isOver && !acknowledged.has(name); left -= 1) {
      await store(name).then(
        () => acknowledged.add(name),
        () => {},
      );
    }
    await pause(2);
  }
}

const store = (name: string) =>
  batcher.run(tenantId, 1, async (tx) => {
    await tx.query(insertIfFree, name);
    writeLog(tx, logEntry("token", name, "create"));
  });

/** Acts on one backend of the vault, or only on one that waits for the standby. */
const onBackend = (act: "cancel" | "terminate", where: "waiting" | "any") =>
  primary.admin.unsafe(`
    select pg_${act}_backend(pid) from pg_stat_activity
    where usename = 'vault' ${where === "waiting" ? "and wait_event = 'SyncRep'" : ""} order by random() limit 2`);

const FAULTS = {
  cancel: () => onBackend("cancel", "waiting"),
  "cancel any": () => onBackend("cancel", "any"),
  terminate: () => onBackend("terminate", "waiting"),
  "terminate any": () => onBackend("terminate", "any"),
  "fast restart": async () => {
    await primary.stopServer();
    await primary.startServer();
  },
  "immediate restart": async () => {
    await primary.stopServer("immediate");
    await primary.startServer();
  },
  crash: async () => {
    await primary.killServer();
    await primary.startServer();
  },
  wait: () => pause(LATE_MS),
};

const anyFault = fc.constantFrom(...Object.values(FAULTS));

/** The standby receives nothing more: what it has is what a failover keeps. Returns what ends that. */
async function cutStandby(): Promise<() => void> {
  let stopped = 0;
  await expect
    .poll(async () => {
      const [receiver] = await standby.admin<{ pid: number }[]>`
        select pid from pg_stat_activity where backend_type = 'walreceiver'`;
      stopped = receiver?.pid ?? 0;
      return stop(stopped);
    })
    .toBe(true);
  return () => process.kill(stopped, "SIGCONT");
}

/** Whether the process is stopped now. A process that has just ended takes signals too, and another follows it. */
function stop(pid: number): boolean {
  try {
    if (pid > 0) process.kill(pid, "SIGSTOP");
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("T") ?? false;
  } catch {
    return false;
  }
}

/** The rows of a server, which has replayed what it received. Of the last record it may have received a part. */
async function rowsOf(server: PostgresCluster): Promise<Set<string>> {
  await expect
    .poll(async () => {
      const [startup] = await server.admin<{ isBusy: boolean }[]>`
        select coalesce(wait_event, '') not in ('RecoveryWalStream', 'RecoveryRetrieveRetryInterval') as "isBusy"
        from pg_stat_activity where backend_type = 'startup'`;
      return startup?.isBusy ?? false;
    })
    .toBe(false);
  const owner = connect({ url: server.url("vault", "vault") }, { connections: 1, statementTimeout: 5_000 });
  try {
    const rows = await asTenant<{ kind: string }>(
      owner,
      tenantId,
      `select kind from due where due_at = '${ROW_TIME.toISOString()}'`,
    );
    return new Set(rows.map(({ kind }) => kind));
  } finally {
    await owner.end();
  }
}

async function writesAreAcknowledged(): Promise<void> {
  const before = acknowledged.size;
  await expect.poll(() => acknowledged.size, { interval: 10 }).toBeGreaterThan(before + 20);
}

/** What was acknowledged before the rows were read, and is not among them. */
function lostFrom(rows: ReadonlySet<string>, names = [...acknowledged]): string[] {
  return names.filter((name) => !rows.has(name));
}

it("no write is acknowledged that a failover to the synchronous standby loses", async () => {
  const faults = { maxLength: 5, minLength: 1 };
  await fc.assert(
    fc.asyncProperty(fc.array(anyFault, { maxLength: 2 }), fc.array(anyFault, faults), async (before, cut) => {
      await writesAreAcknowledged();
      for (const fault of before) await fault();
      const restore = await cutStandby();
      try {
        for (const fault of cut) {
          await pause(50);
          await fault();
        }
        await pause(LATE_MS);
        expect(lostFrom(await rowsOf(standby))).toEqual([]);
      } finally {
        restore();
      }
    }),
    { numRuns: ROUNDS, endOnFailure: true },
  );

  await primary.killServer();
  await standby.promote();
  await standby.waitForStandbys("");
  await writesAreAcknowledged();
  const names = [...acknowledged];
  expect(lostFrom(await rowsOf(standby), names)).toEqual([]);
});
