import type { TenantId, Uuid } from "../../base/ids.js";
import type { LogDueKind, StampDueKind } from "../jobs/due.js";
import { inPreparedSizes } from "../statements/prepared-sizes.js";
import { defineChange, defineForEach, defineHasWritten, defineRow } from "../statements/row-statements.js";
import { defineStatement, defineWrite } from "../statements/statement.js";

/** A stored entry of a chain: the seal of a minute, or a mark. */
export interface SealRow {
  readonly kind: string;
  /** Of the format. */
  readonly version: number;
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
  /** The signed text. Null in the vault's own chain. */
  readonly signed_body: string | null;
  readonly signature: Buffer | null;
}

export type NewSeal = Omit<SealRow, "sealed_at">;

export interface HeadRow {
  /** Of the format. */
  readonly version: number;
  readonly number: number;
  readonly last_mac: Buffer;
  readonly kept_from: Date | null;
  readonly archived_from: Date | null;
  readonly key_version: number;
  readonly mac: Buffer;
  readonly attested_number: number | null;
  readonly attested_mac: Buffer | null;
  readonly attested_at: Date | null;
}

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
      // Writers wait for this commit: it is durable with that of the seals.
      sql`set local synchronous_commit = off`,
      sql`select 1 from tenants where tenant_id = ${tenantId} for update`,
      sql`
        update tenants set audit_closed_until = greatest(coalesce(audit_closed_until, ${until}), ${until})
        where tenant_id = ${tenantId} and now() >= ${notBefore} returning 1`,
    ]),
  outputs: (rows, closings) => closings.map((_, index) => (rows[3 * index + 2]?.length ?? 0) > 0),
});

/**
 * Closes a log as {@link closeLog} does, unless a transaction holds the tenant's row: then it waits for none, and returns
 * false. A transaction that closes several logs must not hold one while it waits for another.
 */
export const closeFreeLog = defineHasWritten<Closing>(
  "tenants",
  (sql, tenantId, { until, notBefore }) => sql`
    update tenants set audit_closed_until = greatest(coalesce(audit_closed_until, ${until}), ${until})
    where tenant_id = ${tenantId} and now() >= ${notBefore} and tenant_id = any(array(
      select tenant_id from tenants where tenant_id = ${tenantId} for update skip locked))
    returning 1`,
);

export const SEAL_COLUMNS =
  "kind, version, window_start, number, row_count, digest, previous, key_version, mac, sealed_at, subject, signed_body, signature";

export const readLastSeal = defineRow<"last", SealRow>(
  "audit_seals",
  (sql, tenantId) => sql`
    select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals where tenant_id = ${tenantId} order by number desc limit 1`,
);

export const readLastSigned = defineForEach<"last", string | null, { readonly signed_body: string }>(
  "read",
  "audit_seals",
  (sql, tenantId) => sql`
    select signed_body from audit_seals
    where tenant_id = ${tenantId} and signed_body is not null order by number desc limit 1`,
  ([row]) => row?.signed_body ?? null,
);

export const readSeal = defineRow<number, SealRow>(
  "audit_seals",
  (sql, tenantId, number) => sql`
    select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals where tenant_id = ${tenantId} and number = ${number}`,
);

export const readAttestation = defineRow<TenantId, SealRow>(
  "audit_seals",
  (sql, tenantId, subject) => sql`
    select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals
    where tenant_id = ${tenantId} and subject = ${subject} order by number desc limit 1`,
);

export const HEAD_COLUMNS =
  "version, number, last_mac, kept_from, archived_from, key_version, mac, attested_number, attested_mac, attested_at";

export const readChainHead = defineRow<"head", HeadRow>(
  "audit_heads",
  (sql, tenantId) => sql`select ${sql.unsafe(HEAD_COLUMNS)} from audit_heads where tenant_id = ${tenantId}`,
);

/** Fails with a unique violation if the number is taken. */
export const insertSeal = defineWrite<NewSeal>({
  table: "audit_seals",
  sortKey: ({ number }) => String(number).padStart(16, "0"),
  queries: (sql, tenantId, seals, at) =>
    inPreparedSizes(seals).map((piece) => {
      const rows = piece.map((seal) => ({ tenant_id: tenantId, ...seal, sealed_at: at }));
      return sql`insert into audit_seals ${sql(rows)}`;
    }),
});

export const deleteSealsUpTo = defineChange<number>(
  "audit_seals",
  (sql, tenantId, number) => sql`delete from audit_seals where tenant_id = ${tenantId} and number <= ${number}`,
);

export interface HeadMove {
  /** The MAC of the head to replace. Absent: the chain has no head yet. */
  readonly before: Buffer | undefined;
  readonly head: HeadRow;
}

/** Replaces the head of the chain. Returns whether it was still the one that the caller read. */
export const moveChainHead = defineHasWritten<HeadMove>("audit_heads", (sql, tenantId, { before, head }) =>
  before
    ? sql`update audit_heads set ${sql({ ...head })} where tenant_id = ${tenantId} and mac = ${before} returning 1`
    : sql`insert into audit_heads ${sql({ tenant_id: tenantId, ...head })} on conflict do nothing returning 1`,
);

/** Deletes the due minutes up to a minute. Unlike a swept minute, a closed minute gets no more rows. */
export const deleteLogDue = defineChange<{ readonly kind: LogDueKind | StampDueKind; readonly minute: Date }>(
  "due",
  (sql, tenantId, { kind, minute }) => sql`
    delete from due where tenant_id = ${tenantId} and kind = ${kind} and due_at <= ${minute}`,
  ({ kind }) => kind,
);
