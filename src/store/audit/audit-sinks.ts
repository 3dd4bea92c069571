import { defineChange, defineRows } from "../statements/row-statements.js";
import { defineStatement } from "../statements/statement.js";
import { SEAL_COLUMNS, type SealRow } from "./audit-seals.js";
import type { RawLogRow } from "./raw-log.js";

/** How far a sink has got with a tenant's log. */
export interface SinkPosition {
  /** The last entry of the chain that it has, with all rows before it. 0: none. */
  readonly number: number;
  /** Of the minute of the next entry: the last row that it has. */
  readonly row: Pick<RawLogRow, "micros" | "id"> | undefined;
  /** It has all rows before this. */
  readonly sentUntil: Date;
}

interface PositionRow {
  readonly sink: string;
  readonly number: number;
  readonly row_micros: string | null;
  readonly row_id: string | null;
  readonly sent_until: Date;
}

/** The positions of all sinks that ever had something of this tenant, by name. */
export const readSinkPositions = defineStatement<"all", ReadonlyMap<string, SinkPosition>, PositionRow>({
  table: "audit_sinks",
  kind: "read",
  queries: (sql, tenantId) => [
    sql`
      select sink, number, row_micros::text as row_micros, row_id, sent_until from audit_sinks
      where tenant_id = ${tenantId}`,
  ],
  outputs: ([rows = []], inputs) => {
    const positions = new Map(
      rows.map(({ sink, number, row_micros, row_id, sent_until }): [string, SinkPosition] => {
        const row = row_micros !== null && row_id !== null ? { micros: row_micros, id: row_id } : undefined;
        return [sink, { number, row, sentUntil: sent_until }];
      }),
    );
    return inputs.map(() => positions);
  },
});

export const saveSinkPosition = defineChange<{ readonly sink: string; readonly position: SinkPosition }>(
  "audit_sinks",
  (sql, tenantId, { sink, position: { number, row, sentUntil } }) => sql`
    insert into audit_sinks (tenant_id, sink, number, row_micros, row_id, sent_until)
    values (${tenantId}, ${sink}, ${number}, ${row?.micros ?? null}::text::bigint, ${row?.id ?? null}::uuid, ${sentUntil})
    on conflict (tenant_id, sink) do update set number = excluded.number, row_micros = excluded.row_micros,
      row_id = excluded.row_id, sent_until = excluded.sent_until`,
);

export const readSealsAfter = defineRows<{ readonly number: number; readonly limit: number }, SealRow>(
  "audit_seals",
  (sql, tenantId, { number, limit }) => sql`
    select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals
    where tenant_id = ${tenantId} and number > ${number} order by number limit ${limit}`,
);

/** The first entries of the vault's own chain after a number, without attestations. */
export const readVaultEntriesAfter = defineRows<{ readonly number: number; readonly limit: number }, SealRow>(
  "audit_seals",
  (sql, tenantId, { number, limit }) => sql`
    select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals
    where tenant_id = ${tenantId} and kind in ('event', 'restart') and number > ${number}
    order by number limit ${limit}`,
);

/** Entries after a number that record where the log's time was set back. */
export const readSetBacksAfter = defineRows<number, SealRow>(
  "audit_seals",
  (sql, tenantId, number) => sql`
    select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals
    where tenant_id = ${tenantId} and kind = 'set_back' and number > ${number} order by number`,
);
