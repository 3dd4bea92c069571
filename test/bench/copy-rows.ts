import { once } from "node:events";
import type { TransactionSql } from "postgres";

type Value = string | number | Date | Buffer | null | readonly string[];

/**
 * Writes rows in the fastest way. PostgreSQL cannot `copy` into a table with row-level security, so the rows go through
 * a temporary table of the transaction.
 */
export async function copyRows<Row extends Readonly<Record<string, Value>>>(
  tx: TransactionSql<{ bigint: number; date: Date }>,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).join(", ");
  await tx.unsafe(`create temp table if not exists new_${table} (like ${table}) on commit delete rows`);
  const stream = await tx.unsafe(`copy new_${table} (${columns}) from stdin`).writable();
  stream.end(rows.map((row) => `${Object.values(row).map(textOf).join("\t")}\n`).join(""));
  await once(stream, "finish");
  await tx.unsafe(`insert into ${table} (${columns}) select ${columns} from new_${table}`);
}

/** A value in the text format of `copy`. */
function textOf(value: Value): string {
  if (value === null) return "\\N";
  if (typeof value === "number") return String(value);
  if (value instanceof Date) return value.toISOString();
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString("hex")}`;
  const text = typeof value === "string" ? value : `{${value.map((item) => JSON.stringify(item)).join(",")}}`;
  return text.replaceAll("\\", "\\\\").replaceAll("\t", "\\t").replaceAll("\n", "\\n");
}
