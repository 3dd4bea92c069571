import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect, type DatabaseAddress, type Sql } from "./connect.js";
import { codeOf } from "./database-error.js";
import { underLease } from "./lease.js";
import { DatabaseSetupError, ensureRoles, quoteName } from "./roles.js";

const FOLDER = join(import.meta.dirname, "migrations");
const LEASE_SECONDS = 60;
/** With a lock timeout of two seconds: a minute. */
const LOCK_ATTEMPTS = 30;
/** A lock that was not granted in time, and a deadlock that was ended at our cost. */
const RETRIED = ["55P03", "40P01"];

/**
 * Brings the schema up to date: numbered .sql files, forward only, one process at a time. `logins` are the roles that
 * will act as the application, besides the one that migrates. A process that dies keeps the others waiting for
 * `leaseSeconds` at most.
 * @returns the names of the migrations that ran.
 * @throws {DatabaseSetupError} with the statements to run, where the login lacks a right.
 */
export async function migrate(
  address: DatabaseAddress,
  logins: readonly string[] = [],
  leaseSeconds = LEASE_SECONDS,
): Promise<string[]> {
  const sql = connect(address, { connections: 1, statementTimeout: 0 });
  try {
    await ensureLedger(sql);
    return await underLease(address, "migrate", leaseSeconds, async () => {
      await ensureRoles(sql, [...new Set([await currentUser(sql), ...logins])]);
      return runPending(sql);
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The migrations that have not run yet; all of them on an empty database. */
export async function pendingMigrations(address: DatabaseAddress): Promise<string[]> {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  try {
    const [ledger] = await sql<{ found: string | null }[]>`select to_regclass('migrations')::text as found`;
    const done = ledger?.found ? await ranMigrations(sql) : [];
    return (await migrationFiles()).filter((name) => !done.includes(name));
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function ensureLedger(sql: Sql): Promise<void> {
  // "if not exists" still fails when several processes start at once: the second finds the table made (42P07), or its type
  // (42710), or waited for the first to write the name of one of them (23505).
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

async function runPending(sql: Sql): Promise<string[]> {
  const done = await ranMigrations(sql);
  const names = await migrationFiles();
  if (names.every((name) => done.includes(name))) return [];
  // Loading it takes a tenth of a second, which every start would pay.
  const { Umzug } = await import("umzug");
  const umzug = new Umzug({
    migrations: names.map((name) => ({
      name,
      up: async () => patiently(sql, await readFile(join(FOLDER, name), "utf8")),
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
 * Runs a file beside a running server. A lock that is not granted within the lock timeout is given back, so that the
 * requests that have gathered behind it are served, and asked for again. A file is one transaction: nothing of it is left.
 */
async function patiently(sql: Sql, statements: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await sql.unsafe(statements);
      return;
    } catch (error) {
      if (!RETRIED.includes(codeOf(error)) || attempt === LOCK_ATTEMPTS) throw error;
      await pause(100);
    }
  }
}

async function migrationFiles(): Promise<string[]> {
  return (await readdir(FOLDER)).filter((name) => name.endsWith(".sql")).sort();
}

/** The migrations that have run, in their order. */
export async function ranMigrations(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select name from migrations order by name`;
  return rows.map(({ name }) => name);
}
