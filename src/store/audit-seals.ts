import type { Cell } from "../crypto/log-seal.js";
import type { LogDueKind } from "./due.js";
import { defineStatement, defineWrite, inSizes } from "./statement.js";

/** A seal as it is stored. */
export interface SealRow {
  readonly window_start: Date;
  readonly number: number;
  readonly row_count: number;
  readonly digest: Buffer;
  readonly previous: Buffer;
  readonly key_version: number;
  readonly mac: Buffer;
  readonly sealed_at: Date;
}

/** The end of a tenant's chain as it is stored. */
export interface EndRow {
  readonly number: number;
  readonly last_mac: Buffer;
  readonly kept_from: Date | null;
  readonly key_version: number;
  readonly mac: Buffer;
}

/** A log row for its digest. */
export interface RawLogRow {
  /** created_at in microseconds since the epoch: all that is stored of it, not just what a Date holds. */
  readonly micros: string;
  readonly id: string;
  readonly actor_id: Cell;
  readonly actor_type: Cell;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly operation: string;
  readonly message: string;
}

export interface RawLogRange {
  readonly from: Date | undefined;
  /** created_at less than. Absent: to the end. */
  readonly until: Date | undefined;
  /** Rows behind this one. */
  readonly after: Pick<RawLogRow, "micros" | "id"> | undefined;
  readonly limit: number;
}

/** The columns of a row in the order in which they are digested. */
export function cellsOf(row: RawLogRow): readonly Cell[] {
  const { micros, id, actor_id, actor_type, entity_type, entity_id, operation, message } = row;
  return [micros, id, actor_id, actor_type, entity_type, entity_id, operation, message];
}

/** A text and its parameters, for whichever client runs it. */
export function rawLogText(tenantId: string, { from, until, after, limit }: RawLogRange) {
  const values: (string | number | Date)[] = [tenantId, limit];
  const behind = (value: string | Date) => `$${values.push(value)}`;
  const conditions = [
    "tenant_id = $1::uuid",
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
      entity_id, operation, message
    from audit_logs where ${conditions.join(" and ")}
    order by created_at, id limit $2::int`;
  return { text, values };
}

/** Rows of the log as they are digested, oldest first. */
export const readRawLog = defineStatement<RawLogRange, readonly RawLogRow[], RawLogRow>({
  table: "audit_logs",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId, ranges) =>
    ranges.map((range) => {
      const { text, values } = rawLogText(tenantId, range);
      return sql.unsafe(text, values);
    }),
  answers: (rows) => rows,
});

export interface Closing {
  /** No row is written with a time before this from the commit on. */
  readonly until: Date;
  /** The database's own clock must have come so far. */
  readonly notBefore: Date;
}

/**
 * Closes the log of a tenant up to a moment. Waits for the flights that hold the tenant's row, so that after the commit no
 * row is still under way. Answers false where the database's clock says that it is too early: a server whose clock runs
 * fast closes no minute that others still write into.
 */
export const closeLog = defineStatement<Closing, boolean, unknown>({
  table: "tenants",
  kind: "write",
  sortKey: ({ until }) => until.toISOString(),
  queries: (sql, tenantId, closings) =>
    closings.flatMap(({ until, notBefore }) => [
      sql`select 1 from tenants where tenant_id = ${tenantId} for update`,
      sql`
        update tenants set audit_closed_until = greatest(coalesce(audit_closed_until, ${until}), ${until})
        where tenant_id = ${tenantId} and now() >= ${notBefore} returning 1`,
    ]),
  answers: (rows, closings) => closings.map((_, index) => (rows[2 * index + 1]?.length ?? 0) > 0),
});

/** The seal of the latest minute. */
export const readLastSeal = defineStatement<"last", SealRow | null, SealRow>({
  table: "audit_seals",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId) => [
    sql`
      select window_start, number, row_count, digest, previous, key_version, mac, sealed_at
      from audit_seals where tenant_id = ${tenantId} order by window_start desc limit 1`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows[0] ?? null),
});

export const readChainEnd = defineStatement<"end", EndRow | null, EndRow>({
  table: "audit_heads",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId) => [
    sql`select number, last_mac, kept_from, key_version, mac from audit_heads where tenant_id = ${tenantId}`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows[0] ?? null),
});

/** A minute that has a seal already meets a unique violation. */
export const insertSeal = defineWrite<Omit<SealRow, "sealed_at">>({
  table: "audit_seals",
  sortKey: ({ window_start }) => window_start.toISOString(),
  queries: (sql, tenantId, seals, at) =>
    inSizes(seals, (piece) => {
      const rows = piece.map((seal) => ({ tenant_id: tenantId, ...seal, sealed_at: at }));
      return sql`insert into audit_seals ${sql(rows)}`;
    }),
});

export interface EndMove {
  /** The mac of the end that is replaced. Absent: there is none yet. */
  readonly before: Buffer | undefined;
  readonly end: EndRow;
}

/** Writes the end of the chain. Answers whether it was still the one that the caller read. */
export const moveChainEnd = defineStatement<EndMove, boolean, unknown>({
  table: "audit_heads",
  kind: "write",
  sortKey: ({ end }) => String(end.number),
  queries: (sql, tenantId, moves) =>
    moves.map(({ before, end }) =>
      before
        ? sql`update audit_heads set ${sql({ ...end })} where tenant_id = ${tenantId} and mac = ${before} returning 1`
        : sql`insert into audit_heads ${sql({ tenant_id: tenantId, ...end })} on conflict do nothing returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/**
 * Removes the oldest rows before a time, so many and those of the same moment as the last of them. Answers how many went.
 * Up to a moment and not by their ids: each batch would be looked for among all that are left.
 */
export const deleteLogBefore = defineStatement<{ readonly time: Date; readonly limit: number }, number, unknown>({
  table: "audit_logs",
  kind: "write",
  sortKey: ({ time }) => time.toISOString(),
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ time, limit }) => sql`
        delete from audit_logs where tenant_id = ${tenantId} and created_at < ${time} and created_at <= (
          select max(oldest.created_at) from (
            select created_at from audit_logs where tenant_id = ${tenantId} and created_at < ${time}
            order by created_at, id limit ${limit}
          ) oldest
        ) returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length),
});

/** Forgets what was due up to a minute. Unlike what sweeps remove, nothing can be added to a minute that is closed. */
export const forgetLogDue = defineWrite<{ readonly kind: LogDueKind; readonly minute: Date }>({
  table: "due",
  sortKey: ({ kind }) => kind,
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ kind, minute }) => sql`
        delete from due where tenant_id = ${tenantId} and kind = ${kind} and due_at <= ${minute}`,
    ),
});
