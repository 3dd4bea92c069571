import { logEntry } from "../../../src/audit/log-entry.js";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid, type TenantId } from "../../../src/base/ids.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { ConnectionSlot } from "../../../src/store/postgres/connection-slot.js";
import { insertTenant } from "../../../src/store/tenancy/tenants.js";
import { type BatchLimits, SHARED_LIMITS } from "../../../src/store/transactions/batch-limits.js";
import { type CommitLookup, commitLookupIn } from "../../../src/store/transactions/commit-lookup.js";
import { standbyWaitIn } from "../../../src/store/transactions/standby-wait.js";
import type { Guard } from "../../../src/store/transactions/started-works.js";
import type { OrdinaryTransaction, Transaction } from "../../../src/store/transactions/transaction.js";
import { TransactionBatcher } from "../../../src/store/transactions/transaction-batcher.js";
import { awaitedLater } from "../../support/awaited-later.js";
import { asTenant, type TestDatabase } from "../../support/databases.js";
import { PostgresProxy } from "../../support/postgres-proxy.js";
import { insertNamedRow, ROW_TIME } from "./named-rows.js";

/** The guard that matches a new tenant. */
export const FIRST_REVISION = 1;

/** Transactions over a proxy, and a tenant to run them for. */
export interface BatcherFixture extends AsyncDisposable {
  readonly proxy: PostgresProxy;
  readonly batcher: TransactionBatcher;
  readonly tenantId: TenantId;
  /** Inserts a named row with its log row, as every request of the vault writes one. */
  insert(name: string, tenantId?: TenantId): Promise<void>;
  /** The names of the rows that exist now. */
  names(tenantId?: TenantId): Promise<string[]>;
  /** The number of a tenant's log rows. */
  logs(tenantId?: TenantId): Promise<number>;
  newTenant(): Promise<TenantId>;
}

export interface FixtureOptions extends Partial<BatchLimits> {
  readonly connections?: number;
  /** Milliseconds after which the database cancels a statement. */
  readonly statementTimeout?: number;
  /** Replaces the look-up in the database. */
  readonly wasCommitted?: CommitLookup;
}

/** `proxy.sent` does not count anything before this call. */
export async function openFixture(database: TestDatabase, options: FixtureOptions = {}): Promise<BatcherFixture> {
  const { connections = 2, statementTimeout = 5_000, wasCommitted, ...limits } = options;
  const proxy = await PostgresProxy.before(database.address);
  const batcher = new TransactionBatcher(
    Array.from(
      { length: connections },
      () => new ConnectionSlot(proxy.address, { role: "cloakroom_app", statementTimeout }),
    ),
    { ...SHARED_LIMITS, ...limits },
    systemClock,
    {
      wasCommitted: wasCommitted ?? commitLookupIn(proxy.address),
      waitsForStandby: standbyWaitIn(proxy.address),
    },
  );
  const newTenant = async (): Promise<TenantId> => {
    const tenantId = newTenantId();
    await batcher.run(tenantId, undefined, async (tx) => {
      tx.enqueue(insertTenant, { name: "Test", owner_id: newUuid(), settings: {} });
    });
    return tenantId;
  };
  const tenantId = await newTenant();
  proxy.sent.length = 0;
  return {
    ...{ proxy, batcher, tenantId, newTenant },
    insert: (name, of = tenantId) =>
      awaitedLater(batcher.run(of, FIRST_REVISION, async (tx) => insertAndLog(tx, name))),
    async names(of = tenantId) {
      const rows = await asTenant<{ kind: string }>(
        database.owner,
        of,
        `select kind from due where due_at = '${ROW_TIME.toISOString()}' order by kind`,
      );
      return rows.map(({ kind }) => kind);
    },
    async logs(of = tenantId) {
      const [row] = await asTenant<{ n: number }>(database.owner, of, "select count(*) as n from audit_logs");
      return row?.n ?? 0;
    },
    async [Symbol.asyncDispose]() {
      await batcher.close();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** Does the same as `insert`, for works that do more. */
export function insertAndLog(tx: Transaction, name: string): void {
  tx.enqueue(insertNamedRow, name);
  writeLog(tx, logEntry("tenant", tx.tenantId, "update"));
}

/** Uses so much processor time of this thread, in milliseconds. */
export function burn(milliseconds: number): void {
  const used = () => process.threadCpuUsage().user / 1_000;
  const until = used() + milliseconds;
  while (used() < until);
}

/** Works of one tenant that start in the same turn of the event loop. */
export function together<T>(
  { batcher, tenantId }: BatcherFixture,
  works: readonly ((tx: OrdinaryTransaction) => Promise<T>)[],
  { guard }: { readonly guard: Guard } = { guard: FIRST_REVISION },
): Promise<PromiseSettledResult<T>[]> {
  return Promise.allSettled(works.map((work) => batcher.run(tenantId, guard, work)));
}

/** Queries besides transactions: which engine responds, and what is done before a commit is looked up or is durable. */
const BESIDES =
  /current_setting\('citus\.version'|pg_postmaster_start_time|pg_terminate_backend|wait_event = 'SyncRep'|pg_logical_emit_message/;
/** The first statement of a transaction: of a block, or of a step in a pipeline. */
const OPENING = /^begin$|^set local .*synchronous_commit = 'off'/;

/**
 * The transactions that went over the wire, each as its statements.
 * @throws if a statement ran outside of a transaction.
 */
export function transactionsOf({ proxy }: BatcherFixture): string[][] {
  const open = new Map<number, string[]>();
  const transactions: string[][] = [];
  for (const { connection, text } of proxy.sent) {
    if (BESIDES.test(text)) continue;
    if (OPENING.test(text)) {
      const transaction: string[] = [];
      open.set(connection, transaction);
      transactions.push(transaction);
    }
    const transaction = open.get(connection);
    // A commit after a failing statement does not run: a rollback follows it.
    const hasEnded = transaction?.at(-1) === "commit" && text !== "rollback";
    if (!transaction || hasEnded) throw new Error(`a statement ran outside of a transaction: ${text}`);
    transaction.push(text.trim());
  }
  return transactions;
}
