import { logEntry } from "../../../src/audit/log-entry.js";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid, type TenantId } from "../../../src/base/ids.js";
import { writeLog } from "../../../src/store/audit-logs.js";
import { type BatchLimits, FAST_LIMITS } from "../../../src/store/batch-limits.js";
import { type CommitLookup, commitLookupIn } from "../../../src/store/commit-lookup.js";
import { ConnectionSlot } from "../../../src/store/connection-slot.js";
import type { Guard } from "../../../src/store/shared-transaction.js";
import { insertTenant } from "../../../src/store/tenants.js";
import type { OrdinaryTransaction, Transaction } from "../../../src/store/transaction.js";
import { TransactionBatcher } from "../../../src/store/transaction-batcher.js";
import { awaitedLater } from "../../support/awaited-later.js";
import { asTenant, type TestDatabase } from "../../support/databases.js";
import { PostgresProxy } from "../../support/postgres-proxy.js";
import { HUNG_AT, hangCoat } from "./coats.js";

/** The guard that fits a new tenant. */
export const FIRST_REVISION = 1;

/** Transactions over a proxy, and a tenant to run them for. */
export interface Deck extends AsyncDisposable {
  readonly proxy: PostgresProxy;
  readonly flights: TransactionBatcher;
  readonly tenantId: TenantId;
  /** A coat with its log row, as every request of the vault writes one. */
  hang(name: string, tenantId?: TenantId): Promise<void>;
  /** The coats that hang there now, by name. */
  coats(tenantId?: TenantId): Promise<string[]>;
  /** How many log rows a tenant has. */
  logs(tenantId?: TenantId): Promise<number>;
  newTenant(): Promise<TenantId>;
}

export interface DeckOptions extends Partial<BatchLimits> {
  readonly lanes?: number;
  /** Milliseconds after which the database gives a statement up. */
  readonly statementTimeout?: number;
  /** In place of a look into the database. */
  readonly wasCommitted?: CommitLookup;
}

/** Everything that a test did before this is not counted in `proxy.sent`. */
export async function openDeck(database: TestDatabase, options: DeckOptions = {}): Promise<Deck> {
  const { lanes = 2, statementTimeout = 5_000, wasCommitted, ...limits } = options;
  const proxy = await PostgresProxy.before(database.address);
  const flights = new TransactionBatcher(
    Array.from({ length: lanes }, () => new ConnectionSlot(proxy.address, { role: "cloakroom_app", statementTimeout })),
    { ...FAST_LIMITS, ...limits },
    systemClock,
    wasCommitted ?? commitLookupIn(proxy.address),
  );
  const newTenant = async (): Promise<TenantId> => {
    const tenantId = newTenantId();
    await flights.run(tenantId, "unguarded", async (tx) => {
      tx.enqueue(insertTenant, { name: "Test", owner_id: newUuid(), settings: {} });
    });
    return tenantId;
  };
  const tenantId = await newTenant();
  proxy.sent.length = 0;
  return {
    ...{ proxy, flights, tenantId, newTenant },
    hang: (name, of = tenantId) => awaitedLater(flights.run(of, FIRST_REVISION, async (tx) => hangAndLog(tx, name))),
    async coats(of = tenantId) {
      const rows = await asTenant<{ kind: string }>(
        database.owner,
        of,
        `select kind from due where due_at = '${HUNG_AT.toISOString()}' order by kind`,
      );
      return rows.map(({ kind }) => kind);
    },
    async logs(of = tenantId) {
      const [row] = await asTenant<{ n: number }>(database.owner, of, "select count(*) as n from audit_logs");
      return row?.n ?? 0;
    },
    async [Symbol.asyncDispose]() {
      await flights.close();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** What `hang` does, for works that do more. */
export function hangAndLog(tx: Transaction, name: string): void {
  tx.enqueue(hangCoat, name);
  writeLog(tx, logEntry(undefined, "tenant", tx.tenantId, "update"));
}

/** Works of one tenant that start in the same turn of the event loop. */
export function together<T>(
  { flights, tenantId }: Deck,
  works: readonly ((tx: OrdinaryTransaction) => Promise<T>)[],
  guard: Guard = FIRST_REVISION,
): Promise<PromiseSettledResult<T>[]> {
  return Promise.allSettled(works.map((work) => flights.run(tenantId, guard, work)));
}

/** What is asked besides transactions: which engine answers, and what is done before a commit is looked up. */
const BESIDES = /current_setting\('citus\.version'|pg_terminate_backend/;

/**
 * The transactions that went over the wire, each as its statements from `begin` on.
 * @throws for a statement outside of a transaction.
 */
export function transactionsOf({ proxy }: Deck): string[][] {
  const open = new Map<number, string[]>();
  const transactions: string[][] = [];
  for (const { connection, text } of proxy.sent) {
    if (BESIDES.test(text)) continue;
    if (text === "begin") {
      const transaction: string[] = [];
      open.set(connection, transaction);
      transactions.push(transaction);
    }
    const transaction = open.get(connection);
    // A commit behind a statement that fails is not run: then a rollback comes behind it.
    const hasEnded = transaction?.at(-1) === "commit" && text !== "rollback";
    if (!transaction || hasEnded) throw new Error(`a statement ran outside of a transaction: ${text}`);
    transaction.push(text.trim());
  }
  return transactions;
}
