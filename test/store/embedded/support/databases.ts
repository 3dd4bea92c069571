import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { onTestFinished } from "vitest";
import { isLocked, type LockFile } from "../../../../src/store/embedded/directory-lock.js";
import {
  type EmbeddedConnection,
  type EmbeddedDatabase,
  type EmbeddedDatabaseOptions,
  startEmbeddedDatabase,
} from "../../../../src/store/embedded/embedded-database.js";
import { isServerOn } from "../../../../src/store/embedded/postgres-server.js";
import { newDirectory } from "../../../support/new-directory.js";
import { openPackage } from "./open-package.js";

export const isRoot = process.geteuid?.() === 0;

/** When to clean up. Concurrent tests must pass their own {@link onTestFinished}. */
export type AtTheEnd = (clear: () => void | Promise<void>) => void;

/** A new directory that every user may enter, like a deployment's. Removed after the test, or by `remove`. */
export function scratch(atTheEnd: AtTheEnd = onTestFinished): string {
  const directory = newDirectory();
  atTheEnd(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts a database that always ends with the test. */
export async function start(
  options: Partial<EmbeddedDatabaseOptions> & { dataDir: string },
  atTheEnd: AtTheEnd = onTestFinished,
): Promise<EmbeddedDatabase> {
  const packageDir = openPackage();
  const defaults = { announce: () => {}, ...(packageDir === undefined ? {} : { packageDir }) };
  const database = await startEmbeddedDatabase({ ...defaults, ...options });
  atTheEnd(() => database.stop());
  return database;
}

/** A data directory with an initialized, stopped database that has one row; copying it saves the 0.7 s of initdb. */
export async function makeSeed(directory: string): Promise<string> {
  const dataDir = join(directory, "seed");
  const database = await startEmbeddedDatabase({ dataDir, announce: () => {} });
  await query(
    database.connection,
    "create table coats (id int primary key, owner text)",
    "insert into coats values (1, 'Ada')",
  );
  await database.stop();
  return dataDir;
}

export function copyOf(seed: string, dataDir: string): string {
  cpSync(seed, dataDir, { recursive: true });
  return dataDir;
}

/** Runs the statements one after another on a separate connection, and returns the rows of the last. */
export async function query(
  connection: EmbeddedConnection,
  ...statements: readonly string[]
): Promise<readonly postgres.Row[]> {
  const sql = postgres({ ...connection, max: 1, fetch_types: false, onnotice: () => {}, connect_timeout: 5 });
  try {
    let rows: readonly postgres.Row[] = [];
    for (const statement of statements) rows = await sql.unsafe(statement);
    return rows;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

export function serverPid(dataDir: string, major = 18): number {
  return Number(readFileSync(join(dataDir, `pg${major}`, "data", "postmaster.pid"), "utf8").split("\n")[0]);
}

/** Whether the PostgreSQL of the data directory runs with that pid. */
export function isRunning(dataDir: string, pid: number): boolean {
  return isServerOn(pid, join(dataDir, "pg18", "data"));
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20);
}

const LOCKS: readonly LockFile[] = ["cloakroom.lock", "users.lock", "start.lock"];

/** A clean stop leaves the data, and no process, socket or lock. */
export function leftovers({
  dataDir,
  socketDirectory,
  pid,
}: {
  dataDir: string;
  socketDirectory: string;
  pid: number;
}) {
  const data = join(dataDir, "pg18", "data");
  return {
    process: isServerOn(pid, data),
    postmasterFile: existsSync(join(data, "postmaster.pid")),
    socketDirectory: existsSync(socketDirectory),
    locks: LOCKS.filter((name) => isLocked(dataDir, name)),
  };
}

export const NOTHING = {
  process: false,
  postmasterFile: false,
  socketDirectory: false,
  locks: [],
};
