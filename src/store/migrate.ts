import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Umzug } from "umzug";
import { newUuid } from "../base/ids.js";
import { connect, type DatabaseAddress, type Sql } from "./connect.js";
import { releaseLease, takeLease } from "./lease.js";
import { ensureRoles } from "./roles.js";

const FOLDER = join(import.meta.dirname, "migrations");
const LEASE_SECONDS = 60;

/**
 * Brings the schema up to date: numbered .sql files, forward only, one process at a time. `logins` are the roles that
 * will act as the application, besides the one that migrates.
 * @returns the names of the migrations that ran.
 */
export async function migrate(address: DatabaseAddress, logins: readonly string[] = []): Promise<string[]> {
  const sql = connect(address, { connections: 1, statementTimeout: 0 });
  try {
    const [me] = await sql<{ name: string }[]>`select current_user as name`;
    await ensureRoles(sql, [...new Set([...(me ? [me.name] : []), ...logins])]);
    await ensureLedger(sql);
    return await underLease(sql, () => runPending(sql));
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
  // "if not exists" still fails with 23505 when several processes start at once: the second finds it made.
  for (const statement of [
    'create table if not exists migrations (name text collate "C" primary key, ran_at timestamptz not null)',
    'create table if not exists leases (name text collate "C" primary key, holder uuid not null, until timestamptz not null)',
  ]) {
    await sql.unsafe(statement).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && (error.code === "23505" || error.code === "42P07")))
        throw error;
    });
  }
}

async function underLease<T>(sql: Sql, run: () => Promise<T>): Promise<T> {
  const holder = newUuid();
  while (!(await takeLease(sql, "migrate", holder, LEASE_SECONDS))) await pause(250);
  try {
    return await run();
  } finally {
    await releaseLease(sql, "migrate", holder);
  }
}

async function runPending(sql: Sql): Promise<string[]> {
  const umzug = new Umzug({
    migrations: (await migrationFiles()).map((name) => ({
      name,
      up: async () => {
        await sql.unsafe(await readFile(join(FOLDER, name), "utf8"));
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

async function migrationFiles(): Promise<string[]> {
  return (await readdir(FOLDER)).filter((name) => name.endsWith(".sql")).sort();
}

async function ranMigrations(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select name from migrations order by name`;
  return rows.map(({ name }) => name);
}
