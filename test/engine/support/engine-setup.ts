import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { connect, type DatabaseAddress, type Sql } from "../../../src/store/postgres/connect.js";
import { createAuthority } from "../../egress/certificates.js";
import { cloakroom } from "../../support/command.js";
import { makeMigratedData } from "../../support/databases.js";
import { newDirectory } from "../../support/new-directory.js";
import { startReplica } from "../../support/replica.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Whether the database of `npm run test:engine` coordinates a Citus cluster. */
    isCluster: boolean;
  }
}

/**
 * One server for the whole run, on the empty database in TEST_DATABASE_URL, set up by the operators' commands. The
 * tables are dropped at the end.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env.TEST_DATABASE_URL;
  if (!url) throw new Error("Set TEST_DATABASE_URL to an empty database, see Tests in README.md.");
  await using stack = new AsyncDisposableStack();
  const directory = newDirectory();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const environment = {
    DATABASE_URL: url,
    CLOAKROOM_DATA_DIR: join(directory, "data"),
    CLOAKROOM_EGRESS_ALLOW: "127.0.0.1",
    CLOAKROOM_RATE_LIMITS: "off",
    CLOAKROOM_LOG_LEVEL: "info",
  };
  await requireEmpty({ url });
  stack.defer(() => dropTables({ url }));
  await run(environment, "init");
  const isCluster = await withSql({ url }, isClusterOf);
  if (isCluster) await run(environment, "cluster", "distribute");
  await run(environment, "doctor");

  const authority = await createAuthority();
  const trusted = join(directory, "trusted.pem");
  writeFileSync(trusted, authority.pem);
  const server = stack.use(await startReplica({ ...environment, NODE_EXTRA_CA_CERTS: trusted }));
  project.provide("isCluster", isCluster);
  // For servers that a test starts in its process, under other settings: their database is the embedded one.
  project.provide("migratedData", stack.use(await makeMigratedData()).dataDir);
  project.provide("serverUrl", server.url);
  project.provide("serverEnvironment", environment);
  project.provide("trustedIdentity", await authority.issue(["localhost"], ["127.0.0.1"]));
  const running = stack.move();
  return () => running.disposeAsync();
}

async function run(environment: Record<string, string>, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await cloakroom(environment, ...args);
  if (code !== 0) throw new Error(`cloakroom ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
}

async function isClusterOf(sql: Sql): Promise<boolean> {
  return (await sql`select 1 from pg_extension where extname = 'citus'`).length > 0;
}

/** @throws if the database has a table: the run drops its tables at the end, and must not drop existing data. */
async function requireEmpty(address: DatabaseAddress): Promise<void> {
  const tables = await withSql(address, tablesOf);
  if (tables.length === 0) return;
  throw new Error(`TEST_DATABASE_URL names a database that has tables (${tables[0]}, ...). Give it an empty one.`);
}

async function dropTables(address: DatabaseAddress): Promise<void> {
  await withSql(address, async (sql) => {
    // The partitions of a table go with it.
    for (const table of await tablesOf(sql)) await sql`drop table if exists ${sql(table)} cascade`;
    await sql`drop function make_log_month`;
  });
}

async function tablesOf(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select tablename::text as name from pg_tables where schemaname = current_schema() order by 1`;
  return rows.map(({ name }) => name);
}

async function withSql<T>(address: DatabaseAddress, use: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect(address, { connections: 1, statementTimeout: 60_000 });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
