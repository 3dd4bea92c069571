import type { TenantId, Uuid } from "../base/ids.js";
import { type Cell, CURRENT_DIGEST, type DigestVersion } from "../crypto/row-digest.js";
import type { LogDueKind } from "./due.js";
import { defineStatement, defineWrite, inSizes } from "./statement.js";

/** A stored entry of a chain: the seal of a minute, or a mark. */
export interface SealRow {
  /** `minute`, or the kind of mark. */
  readonly kind: string;
  /** The layout of the entry. */
  readonly version: number;
  /** The layout of the digest over the minute's rows; 1 for marks. */
  readonly digest_version: number;
  /** The first moment of the minute, or the time of the mark. */
  readonly window_start: Date;
  readonly number: number;
  readonly row_count: number;
  readonly digest: Buffer;
  readonly previous: Buffer;
  readonly key_version: number;
  readonly mac: Buffer;
  readonly sealed_at: Date;
  /** The tenant whose seal an attestation names. Set only in attestations. */
  readonly subject: Uuid | null;
  /** The signed text. Null in entries of earlier releases, and in the vault's own chain. */
  readonly signed_body: string | null;
  readonly signature: Buffer | null;
}

/** An entry to be stored. */
export type NewSeal = Omit<SealRow, "sealed_at">;

/** The stored end of a tenant's chain. */
export interface EndRow {
  readonly number: number;
  readonly last_mac: Buffer;
  readonly kept_from: Date | null;
  readonly key_version: number;
  readonly mac: Buffer;
  readonly attested_number: number | null;
  readonly attested_mac: Buffer | null;
  readonly attested_at: Date | null;
}

/** A log row as the digest reads it. */
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
  /** The number of the mark that set the row's minute aside. */
  readonly set_aside: number | null;
}

/** Selects rows without a mark, rows of one mark, or all rows. */
export type Strand = "main" | number | "all";

export interface RawLogRange {
  readonly strand: Strand;
  readonly from: Date | undefined;
  /** created_at less than this. Absent: no limit. */
  readonly until: Date | undefined;
  /** Rows after this one. */
  readonly after: Pick<RawLogRow, "micros" | "id"> | undefined;
  readonly limit: number;
}

/** The columns of a row that each layout covers, in the order of the digest. */
const DIGESTED = {
  1: ["micros", "id", "actor_id", "actor_type", "entity_type", "entity_id", "operation", "message"],
  2: [
    ...["micros", "id", "actor_id", "actor_type", "entity_type", "entity_id", "operation", "message"],
    ...["key_id", "source_ip", "client", "trace_id", "outcome", "code", "transform", "destination_host"],
    ...["via_type", "via_id", "reason"],
  ],
} as const;

/** The cells of a row that a layout covers, in the order of the digest. */
export function cellsOf(row: RawLogRow, version: DigestVersion): readonly Cell[] {
  return DIGESTED[version].map((column) => row[column]);
}

/** Whether a row has something that a layout does not cover. */
export function exceedsLayout(row: RawLogRow, version: DigestVersion): boolean {
  const covered: readonly string[] = DIGESTED[version];
  return DIGESTED[CURRENT_DIGEST].some((column) => !covered.includes(column) && row[column] !== null);
}

/** A query text and its parameters, for any client. */
export function rawLogText(tenantId: string, { strand, from, until, after, limit }: RawLogRange) {
  const values: (string | number | Date)[] = [tenantId, limit];
  const behind = (value: string | number | Date) => `$${values.push(value)}`;
  const conditions = [
    "tenant_id = $1::uuid",
    ...strandCondition(strand, behind),
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
      destination_host, via_type, via_id, reason, set_aside
    from audit_logs where ${conditions.join(" and ")}
    order by created_at, id limit $2::int`;
  return { text, values };
}

function strandCondition(strand: Strand, behind: (value: number) => string): readonly string[] {
  if (strand === "all") return [];
  return [strand === "main" ? "set_aside is null" : `set_aside = ${behind(strand)}::bigint`];
}

/** Log rows in the form that is digested, oldest first. */
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
  /** After the commit, no row gets a time before this. */
  readonly until: Date;
  /** The database's clock must have reached this time. */
  readonly notBefore: Date;
}

/**
 * Closes a tenant's log up to a moment. Waits for the transactions that hold the tenant's row, so no row before that
 * moment is in flight after the commit. Returns false if it is too early by the database's clock: a server whose clock
 * is ahead must not close a minute that others still write into.
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

export const SEAL_COLUMNS =
  "kind, version, digest_version, window_start, number, row_count, digest, previous, key_version, mac, sealed_at, subject, signed_body, signature";

/** The last entry of the chain. */
export const readLastSeal = defineStatement<"last", SealRow | null, SealRow>({
  table: "audit_seals",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId) => [
    sql`
      select ${sql.unsafe(SEAL_COLUMNS)}
      from audit_seals where tenant_id = ${tenantId} order by number desc limit 1`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows[0] ?? null),
});

/** The text of the last signed entry. */
export const readLastSigned = defineStatement<"last", string | null, { readonly signed_body: string }>({
  table: "audit_seals",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId) => [
    sql`
      select signed_body from audit_seals
      where tenant_id = ${tenantId} and signed_body is not null order by number desc limit 1`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows[0]?.signed_body ?? null),
});

/** The entry with a number. */
export const readSeal = defineStatement<number, SealRow | null, SealRow>({
  table: "audit_seals",
  kind: "read",
  sortKey: String,
  queries: (sql, tenantId, numbers) =>
    numbers.map(
      (number) => sql`
        select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals where tenant_id = ${tenantId} and number = ${number}`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** The latest attestation of a tenant, from the vault's own chain. */
export const readAttestation = defineStatement<TenantId, SealRow | null, SealRow>({
  table: "audit_seals",
  kind: "read",
  sortKey: (subject) => subject,
  queries: (sql, tenantId, subjects) =>
    subjects.map(
      (subject) => sql`
        select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals
        where tenant_id = ${tenantId} and subject = ${subject} order by number desc limit 1`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

export const END_COLUMNS = "number, last_mac, kept_from, key_version, mac, attested_number, attested_mac, attested_at";

export const readChainEnd = defineStatement<"end", EndRow | null, EndRow>({
  table: "audit_heads",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId) => [sql`select ${sql.unsafe(END_COLUMNS)} from audit_heads where tenant_id = ${tenantId}`],
  answers: ([rows = []], inputs) => inputs.map(() => rows[0] ?? null),
});

/** Fails with a unique violation if the number is taken. */
export const insertSeal = defineWrite<NewSeal>({
  table: "audit_seals",
  sortKey: ({ number }) => String(number).padStart(16, "0"),
  queries: (sql, tenantId, seals, at) =>
    inSizes(seals, (piece) => {
      const rows = piece.map((seal) => ({ tenant_id: tenantId, ...seal, sealed_at: at }));
      return sql`insert into audit_seals ${sql(rows)}`;
    }),
});

export interface EndMove {
  /** The MAC of the end to replace. Absent: the chain has no end yet. */
  readonly before: Buffer | undefined;
  readonly end: EndRow;
}

/** Replaces the end of the chain. Returns whether it was still the one that the caller read. */
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
 * Deletes about `limit` of the oldest rows before a time, and returns how many. Deletes up to a moment, not by id,
 * because each batch of ids would be looked up among all remaining rows. Rows with the same time as the last one are
 * deleted too.
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

/** Deletes the due minutes up to a minute. Unlike a swept minute, a closed minute gets no more rows. */
export const forgetLogDue = defineWrite<{ readonly kind: LogDueKind; readonly minute: Date }>({
  table: "due",
  sortKey: ({ kind }) => kind,
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ kind, minute }) => sql`
        delete from due where tenant_id = ${tenantId} and kind = ${kind} and due_at <= ${minute}`,
    ),
});
