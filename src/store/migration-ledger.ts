import { readBuildVersion } from "../base/build-version.js";
import type { Sql, TransactionSql } from "./postgres/connect.js";
import { DatabaseSetupError } from "./postgres/roles.js";

/** Every migration that ran, with the version of the program that ran it. */
export const LEDGER_TABLE =
  'create table if not exists migrations (name text collate "C" primary key, ran_at timestamptz not null, version text not null)';

export async function ranMigrations(sql: Sql): Promise<string[]> {
  return (await readLedger(sql)).map(({ name }) => name);
}

/** Records a migration as run, in the transaction of its changes. */
export async function recordMigration(tx: TransactionSql, name: string): Promise<void> {
  const { version } = readBuildVersion();
  await tx`insert into migrations (name, ran_at, version) values (${name}, now(), ${version})`;
}

/**
 * Refuses a schema that another version of the program has changed in ways that this one does not know. Changes nothing.
 * @param known this program's migrations, in order.
 * @returns those that have run.
 * @throws {DatabaseSetupError} that names both versions; also for a schema from before the first release.
 */
export async function knownMigrations(sql: Sql, known: readonly string[]): Promise<string[]> {
  const rows = await readLedger(sql);
  const names = rows.map(({ name }) => name);
  // Each release has run the first schema.
  if (names.length > 0 && known[0] !== undefined && !names.includes(known[0])) throw olderThanFirstRelease();
  const unknown = rows.findLast(({ name }) => !known.includes(name));
  if (!unknown) return names;
  const { version } = readBuildVersion();
  throw new DatabaseSetupError(
    `The database's schema is newer than this program: ${unknown.name} of Cloakroom ${unknown.version} has run, and this is Cloakroom ${version}, which knows migrations up to ${known.at(-1)}. Start Cloakroom ${unknown.version} or newer, or restore a backup from before the upgrade.`,
  );
}

interface RanMigration {
  readonly name: string;
  readonly version: string;
}

/** Empty for a database without a ledger. */
async function readLedger(sql: Sql): Promise<readonly RanMigration[]> {
  const columns = await sql<{ name: string }[]>`
    select attname::text as name from pg_attribute where attrelid = to_regclass('migrations') and attnum > 0`;
  if (columns.length === 0) return [];
  // The first ledgers had no versions.
  if (!columns.some(({ name }) => name === "version")) throw olderThanFirstRelease();
  return await sql<RanMigration[]>`select name, version from migrations order by name`;
}

function olderThanFirstRelease(): DatabaseSetupError {
  return new DatabaseSetupError(
    "This database is older than the first release of Cloakroom, 0.1.0, and was not changed. Use an empty database or another CLOAKROOM_DATA_DIR.",
  );
}
