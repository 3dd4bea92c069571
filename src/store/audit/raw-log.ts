import type { Cell } from "../../crypto/row-digest.js";
import { defineRows } from "../statements/row-statements.js";

export interface RawLogRow {
  /** created_at in microseconds since the epoch: the full stored precision, which a Date cannot hold. */
  readonly micros: string;
  readonly id: string;
  readonly actor_id: Cell;
  readonly actor_type: Cell;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly operation: string;
  readonly message: string;
  readonly key_id: Cell;
  readonly source_ip: Cell;
  readonly client: Cell;
  readonly trace_id: Cell;
  readonly outcome: Cell;
  readonly code: Cell;
  readonly transform: Cell;
  readonly destination_host: Cell;
  readonly via_type: Cell;
  readonly via_id: Cell;
  readonly reason: Cell;
  readonly changes: Cell;
  /** The number of the mark that set the row's minute aside. */
  readonly set_aside: number | null;
}

/** Selects rows without a mark, rows of one mark, or all rows. */
export type SealedGroup = "main" | number | "all";

export interface RawLogRange {
  readonly group: SealedGroup;
  readonly from: Date | undefined;
  /** created_at less than this. Absent: no limit. */
  readonly until: Date | undefined;
  /** Rows after this one. */
  readonly after: Pick<RawLogRow, "micros" | "id"> | undefined;
  readonly limit: number;
}

/** The columns of a row that its digest covers, in this order. */
const DIGESTED = [
  ...(["micros", "id", "actor_id", "actor_type", "entity_type", "entity_id", "operation", "message"] as const),
  ...(["key_id", "source_ip", "client", "trace_id", "outcome", "code", "transform", "destination_host"] as const),
  ...(["via_type", "via_id", "reason", "changes"] as const),
] as const;

/** The cells of a row, in the order of the digest. */
export function rowCells(row: RawLogRow): readonly Cell[] {
  return DIGESTED.map((column) => row[column]);
}

/** A query text and its parameters, for any client. */
export function rawLogText(tenantId: string, { group, from, until, after, limit }: RawLogRange) {
  const values: (string | number | Date)[] = [tenantId, limit];
  const behind = (value: string | number | Date) => `$${values.push(value)}`;
  const conditions = [
    "tenant_id = $1::uuid",
    ...groupCondition(group, behind),
    ...(from ? [`created_at >= ${behind(from)}`] : []),
    ...(until ? [`created_at < ${behind(until)}`] : []),
    ...(after
      ? [
          `(created_at, id) > (timestamptz 'epoch' + ${behind(after.micros)}::text::bigint * interval '1 microsecond', ${behind(after.id)}::uuid)`,
        ]
      : []),
  ];
  const text = `
    select (extract(epoch from created_at) * 1000000)::bigint::text as micros, id, actor_id, actor_type, entity_type,
      entity_id, operation, message, key_id, host(source_ip) as source_ip, client, trace_id, outcome, code, transform,
      destination_host, via_type, via_id, reason, changes, set_aside
    from audit_logs where ${conditions.join(" and ")}
    order by created_at, id limit $2::int`;
  return { text, values };
}

function groupCondition(group: SealedGroup, behind: (value: number) => string): readonly string[] {
  if (group === "all") return [];
  return [group === "main" ? "set_aside is null" : `set_aside = ${behind(group)}::bigint`];
}

/** Log rows in the form that is digested, oldest first. */
export const readRawLog = defineRows<RawLogRange, RawLogRow>("audit_logs", (sql, tenantId, range) => {
  const { text, values } = rawLogText(tenantId, range);
  return sql.unsafe(text, values);
});
