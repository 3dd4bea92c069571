import { fileURLToPath } from "node:url";
import { packageFile } from "../base/package-files.js";
import { ensureLogPartitions } from "./audit/stray-log-rows.js";
import { distributeNewTables } from "./cluster/distribute.js";
import { SCHEMA_LEASE, withLease } from "./jobs/lease.js";
import { knownMigrations, LEDGER_TABLE, recordMigration } from "./migration-ledger.js";
import { listMigrations, type MigrationPlan, readMigration } from "./migration-plan.js";
import { type DatabaseAddress, type Sql, soleConnection } from "./postgres/connect.js";
import { databaseErrorCode } from "./postgres/database-error.js";
import { DatabaseSetupError, ensureRoles } from "./postgres/roles.js";
import { quoteName } from "./statements/sql-text.js";
import { retryingLocks } from "./transactions/lock-retries.js";

/** `npm run build` copies the .sql files there. */
export const MIGRATIONS_FOLDER = fileURLToPath(packageFile("dist/src/store/migrations/"));
const LEASE_SECONDS = 60;
/** With these a migration tries for a minute, and no request waits longer than a second for one that waits. */
const LOCK_WAIT_MS = 900;
const LOCK_ATTEMPTS = 60;

export interface MigrateOptions {
  /** The roles that act as the application, besides the one that migrates. */
  readonly logins?: readonly string[];
  /** The longest time that other processes wait for a process that died. */
  readonly leaseSeconds?: number;
  /** Runs no others than these: for an import from an older release. Absent: all. */
  readonly only?: readonly string[];
  /** The folder of the migrations. Absent: this release's. */
  readonly folder?: string;
  readonly announce?: (line: string) => void;
}

/**
 * Brings the schema up to date: numbered migrations, forward only, one process at a time. A migration is an .sql file or
 * a folder of them, and one transaction. If the vault is distributed over a cluster, also distributes new tables.
 * @returns the names of the migrations that ran.
 * @throws {DatabaseSetupError} with the statements to run, if the login lacks a right. Also for a schema of a newer
 * program, or from before the first release; both are left as they are.
 */
export async function migrate(address: DatabaseAddress, options: MigrateOptions = {}): Promise<string[]> {
  const { logins = [], leaseSeconds = LEASE_SECONDS, folder = MIGRATIONS_FOLDER, only, announce = () => {} } = options;
  await using sql = soleConnection(address, { statementTimeout: 0 });
  // Before anything is changed.
  await knownMigrations(sql, await listMigrations(folder));
  await ensureLedger(sql);
  return await withLease(address, SCHEMA_LEASE, leaseSeconds, async () => {
    await ensureRoles(sql, [...new Set([await currentUser(sql), ...logins])]);
    const ran = await runPending(sql, folder, only);
    for (const { month, reason } of await ensureLogPartitions(sql, new Date())) {
      announce(`The log has no table for ${month.toISOString().slice(0, 7)} yet: ${reason}. Servers try again.`);
    }
    // Runs even without new migrations: an earlier run may have been interrupted here.
    await distributeNewTables(sql, announce);
    return ran;
  });
}

/**
 * The migrations that have not run yet.
 * @param folder the folder of the migrations; this release's by default.
 * @throws {DatabaseSetupError} for a schema of a newer program, or from before the first release.
 */
export async function pendingMigrations(address: DatabaseAddress, folder = MIGRATIONS_FOLDER): Promise<string[]> {
  await using sql = soleConnection(address);
  const names = await listMigrations(folder);
  const done = await knownMigrations(sql, names);
  return names.filter((name) => !done.includes(name));
}

async function ensureLedger(sql: Sql): Promise<void> {
  // "if not exists" still fails when several processes start at once: the second one finds the table created (42P07),
  // or its type (42710), or has waited for the first to write one of their names (23505).
  for (const statement of [
    LEDGER_TABLE,
    'create table if not exists leases (name text collate "C" primary key, holder uuid not null, until timestamptz not null)',
  ]) {
    await sql.unsafe(statement).catch(async (error: unknown) => {
      if (databaseErrorCode(error) === "42501") throw mayNotMakeTables(await currentUser(sql));
      if (!["23505", "42710", "42P07"].includes(databaseErrorCode(error))) throw error;
    });
  }
}

function mayNotMakeTables(login: string): DatabaseSetupError {
  return new DatabaseSetupError(
    `The login role may not make tables. Let a database administrator run this in the database, then run the command again:
grant create on schema public to ${quoteName(login)};`,
  );
}

async function currentUser(sql: Sql): Promise<string> {
  const [me] = await sql<{ name: string }[]>`select current_user as name`;
  return me?.name ?? "";
}

async function runPending(sql: Sql, folder: string, only: readonly string[] | undefined): Promise<string[]> {
  const names = await listMigrations(folder);
  const done = await knownMigrations(sql, names);
  const pending = names.filter((name) => !done.includes(name) && (only?.includes(name) ?? true));
  for (const name of pending) {
    const plan = await readMigration(folder, name);
    if (plan.kind === "index") await buildIndex(sql, name, plan);
    else await runTransaction(sql, name, plan.texts);
  }
  return pending;
}

async function runTransaction(sql: Sql, name: string, texts: readonly string[]): Promise<void> {
  await retryingLocks(
    () =>
      sql.begin(async (tx) => {
        // All requests for a table wait behind this transaction while it waits for the table's lock.
        await tx.unsafe(`set local lock_timeout = ${LOCK_WAIT_MS}`);
        for (const text of texts) await tx.unsafe(asBlock(text));
        await recordMigration(tx, name);
      }),
    LOCK_ATTEMPTS,
  );
}

/**
 * Builds an index while writers continue. It is no transaction: a run that was cut off leaves an index that is not valid,
 * which the next one removes. It waits for transactions that write to the table, and no request waits for it.
 */
async function buildIndex(sql: Sql, name: string, { index, text }: Extract<MigrationPlan, { kind: "index" }>) {
  await sql.unsafe("set lock_timeout = 0");
  const [broken] = await sql`
    select from pg_index where indexrelid = to_regclass(${index}) and not indisvalid`;
  if (broken) await sql.unsafe(`drop index concurrently if exists ${quoteName(index)}`);
  await sql.unsafe(text);
  await sql.unsafe("reset lock_timeout");
  await sql.begin((tx) => recordMigration(tx, name));
}

/**
 * Turns a file of statements into one block. For a change to a distributed table, Citus (13.0.5) sends the whole text
 * that contains it to its nodes, where only a single statement is allowed: "cannot insert multiple commands into a
 * prepared statement". Statements of a block are separate texts. A block allows no select without a target.
 */
function asBlock(statements: string): string {
  return `do $migration$ begin\n${statements}\nend $migration$`;
}
