import type { Uuid } from "../../base/ids.js";
import type { RowBytes } from "./counted-page.js";
import { defineRows } from "./row-statements.js";
import type { Statement } from "./statement.js";

/** Names are sealed one by one. Opening this many takes some 5 ms. */
export const NAMES_PER_BATCH = 500;

export interface NamedRow {
  readonly id: Uuid;
  /** Sealed. Null for an official formula. */
  readonly name: Buffer | null;
  readonly official_name: string | null;
  /** The creation time as PostgreSQL writes it, because a Date has no microseconds. */
  readonly position: string;
  readonly bytes: number;
}

export interface NameRange {
  /** If not empty, lists only these. */
  readonly ids: readonly Uuid[];
  /** Lists only applications of these types, if present and not empty. */
  readonly types?: readonly string[] | undefined;
  /** The last row of the previous range. */
  readonly after: NamedRow | undefined;
}

/** Reads names in the order of a list, newest first, {@link NAMES_PER_BATCH} at a time. */
export type NamesStatement = Statement<NameRange, readonly NamedRow[]>;

/** @param bytes the size of a row. */
export function defineNames(
  table: "applications" | "proxies" | "reactors" | "reactor_formulas",
  bytes: RowBytes,
): NamesStatement {
  return defineRows<NameRange, NamedRow>(table, (sql, tenantId, { ids, types = [], after }) => {
    const wanted = sql`
      ${ids.length > 0 ? sql`and id = any(${[...ids]}::uuid[])` : sql``}
      ${types.length > 0 ? sql`and type = any(${[...types]}::text[])` : sql``}
      ${after ? sql`and (created_at, id) < (${after.position}::text::timestamptz, ${after.id})` : sql``}`;
    // Every tenant's list contains the official formulas.
    const official =
      table === "reactor_formulas"
        ? sql`union all select id, null, name, created_at, 0 from official_formulas where true ${wanted}`
        : sql``;
    return sql`
      select id, name, official_name, created_at::text as position, bytes from (
        select id, name, null as official_name, created_at, ${bytes(sql, tenantId)} as bytes from ${sql(table)} where tenant_id = ${tenantId} ${wanted} ${official}
      ) named
      order by named.created_at desc, named.id desc limit ${NAMES_PER_BATCH}`;
  });
}
