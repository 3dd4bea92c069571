import { type Hmac, timingSafeEqual } from "node:crypto";
import { VAULT_TENANT_ID } from "../../base/ids.js";
import { makeEmptyPartitions } from "../audit/log-partitions.js";
import { listStoredTables, type StoredTable } from "../catalogue/stored-tables.js";
import type { Sql } from "../postgres/connect.js";
import { databaseErrorCode } from "../postgres/database-error.js";
import { quoteName } from "../statements/sql-text.js";
import { setRootKeyThreshold } from "../tenancy/root-keys.js";
import { copyIn } from "./copy-streams.js";
import type { ExportReader } from "./export-reader.js";
import { damaged, ExportFileError, readLine, SECTION_END, type SectionLine } from "./format.js";

/** Numbers of rows by table. Tables without rows are left out. */
export type RowCounts = Readonly<Record<string, number>>;

export interface ImportFacts {
  /**
   * The root keys that are kept in shares, with the number of shares that restore each. They may have been split after
   * the export.
   */
  readonly split: ReadonlyMap<string, number>;
  readonly logPartitions: readonly string[];
}

/**
 * Imports everything after the header of an export into an empty database, or nothing.
 * @param sql one connection, as the owner of the tables.
 * @param mac already contains the header.
 * @returns the rows that the database then has.
 * @throws {ExportFileError} if the file is damaged or the database is not empty.
 */
export async function importSections(
  sql: Sql,
  reader: ExportReader,
  mac: Hmac,
  { split, logPartitions }: ImportFacts,
): Promise<RowCounts> {
  await sql.unsafe("begin");
  try {
    // A slow source makes this transaction wait between two tables.
    await sql.unsafe("set local idle_in_transaction_session_timeout = 0");
    const tables = await listStoredTables(sql);
    await requireEmpty(sql);
    // The setup of the database registered the configured key. The file brings the keys that it needs.
    await sql`delete from root_keys`;
    // Row-level security applies to the owner too, and PostgreSQL refuses COPY FROM under it. No other transaction sees
    // this state.
    const guarded = tables.filter(({ isOfTenants }) => isOfTenants);
    for (const { name } of guarded) await sql.unsafe(`alter table ${quoteName(name)} no force row level security`);
    // A server that ran on the empty database has recorded its start. The file brings the vault's own log and keys.
    for (const { name } of guarded) await sql`delete from ${sql(name)} where tenant_id = ${VAULT_TENANT_ID}`;
    await makeEmptyPartitions(sql, logPartitions);
    for (;;) {
      const text = await reader.line();
      const line = readLine(text.toString());
      if ("mac" in line) {
        await requireWhole(reader, line.mac, mac);
        break;
      }
      mac.update(text);
      await fill(sql, tables, line, authenticated(reader, mac));
      mac.update(SECTION_END);
    }
    for (const [id, threshold] of split) await setRootKeyThreshold(sql, id, threshold);
    const rows = await countRows(sql, tables);
    for (const { name } of guarded) await sql.unsafe(`alter table ${quoteName(name)} force row level security`);
    await sql.unsafe("commit");
    return rows;
  } catch (error) {
    await sql.unsafe("rollback").catch(() => {});
    throw error;
  }
}

async function countRows(sql: Sql, tables: readonly StoredTable[]): Promise<RowCounts> {
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [found] = await sql<{ rows: number }[]>`select count(*) as rows from ${sql(name)}`;
    if (found && found.rows > 0) counts[name] = found.rows;
  }
  return counts;
}

async function requireEmpty(sql: Sql): Promise<void> {
  const [found] = await sql<{ some: boolean }[]>`
    select exists(select from tenants) or exists(select from official_formulas) as some`;
  if (found?.some !== false) {
    throw new ExportFileError("The database holds tenants or formulas already. Import into an empty one.");
  }
}

async function fill(
  sql: Sql,
  tables: readonly StoredTable[],
  { table, columns }: SectionLine,
  rows: AsyncIterable<Buffer>,
): Promise<void> {
  const known = tables.find(({ name }) => name === table);
  if (!known || columns.some((column) => !known.columns.includes(column))) throw damaged();
  const into = `${quoteName(table)} (${columns.map(quoteName).join(", ")})`;
  try {
    await copyIn(sql, into, rows);
  } catch (error) {
    throw isAboutData(error) ? damaged() : error;
  }
}

/**
 * Whether the database rejects values or rows (SQLSTATE classes 22 and 23), or the error follows from such a rejection.
 */
function isAboutData(error: unknown): boolean {
  return /^(?:22|23)\w{3}$|^25P02$/.test(databaseErrorCode(error));
}

async function* authenticated(reader: ExportReader, mac: Hmac): AsyncGenerator<Buffer> {
  for await (const rows of reader.rows()) {
    mac.update(rows);
    yield rows;
  }
}

async function requireWhole(reader: ExportReader, given: string, mac: Hmac): Promise<void> {
  const expected = mac.digest();
  const found = Buffer.from(given, "hex");
  const fits = found.length === expected.length && timingSafeEqual(found, expected);
  if (!fits || !(await reader.isAtEnd())) throw damaged();
}
