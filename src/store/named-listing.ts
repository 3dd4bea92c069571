import type { Uuid } from "../base/ids.js";
import type { NameColumns } from "../crypto/sealed-name.js";
import { defineStatement, type Statement } from "./statement.js";

/** Names are sealed one by one: opening so many takes some 5 ms. */
export const NAMES_AT_ONCE = 500;

/** The name of a row, and where the row comes in a list. */
export interface NamedRow extends NameColumns {
  readonly id: Uuid;
  /** When it was made, as PostgreSQL writes it: a Date has no microseconds. */
  readonly position: string;
}

export interface NameStretch {
  /** Only these, where any are given. */
  readonly ids: readonly Uuid[];
  /** The row that the stretch before ended with. */
  readonly after: NamedRow | undefined;
}

/** Reads names in the order of a list, newest first, {@link NAMES_AT_ONCE} at a time. */
export type NamesStatement = Statement<NameStretch, readonly NamedRow[]>;

export function defineNames(table: "proxies" | "reactors" | "reactor_formulas"): NamesStatement {
  return defineStatement<NameStretch, readonly NamedRow[], NamedRow>({
    table,
    kind: "read",
    sortKey: () => "",
    queries: (sql, tenantId, stretches) =>
      stretches.map(({ ids, after }) => {
        const wanted = sql`
          ${ids.length > 0 ? sql`and id = any(${[...ids]}::uuid[])` : sql``}
          ${after ? sql`and (created_at, id) < (${after.position}::text::timestamptz, ${after.id})` : sql``}`;
        // Official formulas are in every tenant's list.
        const official =
          table === "reactor_formulas"
            ? sql`union all select id, name, null::bytea, created_at from official_formulas where true ${wanted}`
            : sql``;
        return sql`
          select id, name, label, created_at::text as position from (
            select id, name, label, created_at from ${sql(table)} where tenant_id = ${tenantId} ${wanted} ${official}
          ) named
          order by named.created_at desc, named.id desc limit ${NAMES_AT_ONCE}`;
      }),
    answers: (rows) => rows,
  });
}
