import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../base/package-files.js";
import { distributeNewTables } from "./cluster/distribute.js";
import { SCHEMA_LEASE, withLease } from "./jobs/lease.js";
import { connect, type DatabaseAddress, type Sql } from "./postgres/connect.js";
import { codeOf } from "./postgres/database-error.js";
import { DatabaseSetupError, ensureRoles, quoteName } from "./postgres/roles.js";
import { retryingLocks } from "./transactions/lock-retries.js";

/** `npm run build` copies the .sql files there. */
const FOLDER = fileURLToPath(packageFile("dist/src/store/migrations/"));
const LEASE_SECONDS = 60;

export interface MigrateOptions {
  /** The roles that act as the application, besides the one that migrates. */
  readonly logins?: readonly string[];
  /** The longest time that other processes wait for a process that died. */
  readonly leaseSeconds?: number;
  /** The folder of the .sql files. Absent: this release's. */
  readonly folder?: string;
  readonly announce?: (line: string) => void;
}

/**
 * Brings the schema up to date: numbered .sql files, forward only, one process at a time. If the vault is distributed
 * over a cluster, also distributes new tables.
 * @returns the names of the migrations that ran.
 * @throws {DatabaseSetupError} with the statements to run, if the login lacks a right.
 */
export async function migrate(
  address: DatabaseAddress,
  { logins = [], leaseSeconds = LEASE_SECONDS, folder = FOLDER, announce = () => {} }: MigrateOptions = {},
): Promise<string[]> {
  const sql = connect(address, { connections: 1, statementTimeout: 0 });
  try {
    await ensureLedger(sql);
    return await withLease(address, SCHEMA_LEASE, leaseSeconds, async () => {
      await ensureRoles(sql, [...new Set([await currentUser(sql), ...logins])]);
      const ran = await runPending(sql, folder);
      // Runs even without new migrations: an earlier run may have been interrupted here.
      await distributeNewTables(sql, announce);
      return ran;
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The migrations that have not run yet. */
export async function pendingMigrations(address: DatabaseAddress): Promise<string[]> {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  try {
    const [ledger] = await sql<{ found: string | null }[]>`select to_regclass('migrations')::text as found`;
    const done = ledger?.found ? await ranMigrations(sql) : [];
    return (await migrationFiles(FOLDER)).filter((name) => !done.includes(name));
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function ensureLedger(sql: Sql): Promise<void> {
  // "if not exists" still fails when several processes start at once: the second one finds the table created (42P07),
  // or its type (42710), or has waited for the first to write one of their names (23505).
  for (const statement of [
    'create table if not exists migrations (name text collate "C" primary key, ran_at timestamptz not null)',
    'create table if not exists leases (name text collate "C" primary key, holder uuid not null, until timestamptz not null)',
  ]) {
    await sql.unsafe(statement).catch(async (error: unknown) => {
      if (codeOf(error) === "42501") throw mayNotMakeTables(await currentUser(sql));
      if (!["23505", "42710", "42P07"].includes(codeOf(error))) throw error;
    });
  }
}

function mayNotMakeTables(login: string): DatabaseSetupError {
  return new DatabaseSetupError(
    `The login role may not make tables. Let a database administrator run this in the database, then start again:
grant create on schema public to ${quoteName(login)};`,
  );
}

async function currentUser(sql: Sql): Promise<string> {
  const [me] = await sql<{ name: string }[]>`select current_user as name`;
  return me?.name ?? "";
}

async function runPending(sql: Sql, folder: string): Promise<string[]> {
  const done = await ranMigrations(sql);
  const names = await migrationFiles(folder);
  if (names.every((name) => done.includes(name))) return [];
  // Loading it takes a tenth of a second, which every start would pay.
  const { Umzug } = await import("umzug");
  const umzug = new Umzug({
    migrations: names.map((name) => ({
      name,
      up: async () => {
        const statements = await readFile(join(folder, name), "utf8");
        await retryingLocks(() => sql.unsafe(asBlock(statements)));
      },
    })),
    storage: {
      executed: () => ranMigrations(sql),
      logMigration: async ({ name }) => {
        await sql`insert into migrations (name, ran_at) values (${name}, now())`;
      },
      unlogMigration: async () => {
        throw new Error("migrations only go forward");
      },
    },
    logger: undefined,
  });
  return (await umzug.up()).map(({ name }) => name);
}

/**
 * Turns a file of statements into one block, which is one transaction. For a change to a distributed table, Citus
 * (13.0.5) sends the whole text that contains it to its nodes, where only a single statement is allowed: "cannot insert
 * multiple commands into a prepared statement". Statements of a block are separate texts. A block allows no select
 * without a target.
 */
function asBlock(statements: string): string {
  return `do $migration$ begin\n${statements}\nend $migration$`;
}

async function migrationFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
}

/** The migrations that have run, in order. */
export async function ranMigrations(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select name from migrations order by name`;
  return rows.map(({ name }) => name);
}
