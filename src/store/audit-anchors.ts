import type { Uuid } from "../base/ids.js";
import { defineStatement, defineWrite } from "./statement.js";

/** A time stamp over the last seals of tenants, among the rows of the vault itself. */
export interface StampRow {
  readonly id: Uuid;
  readonly stamped_at: Date;
  /** DER. */
  readonly token: Buffer;
}

/** An entry of a tenant's chain that a stamp covers. */
export interface AnchorRow {
  readonly number: number;
  readonly stamp_id: Uuid;
  /** The proof's steps, separated by spaces. */
  readonly proof: string;
}

export const insertStamp = defineWrite<StampRow>({
  table: "audit_stamps",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, stamps) =>
    stamps.map((stamp) => sql`insert into audit_stamps ${sql({ tenant_id: tenantId, ...stamp })}`),
});

export const readStamp = defineStatement<Uuid, StampRow | null, StampRow>({
  table: "audit_stamps",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map((id) => sql`select id, stamped_at, token from audit_stamps where tenant_id = ${tenantId} and id = ${id}`),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Another replica may have anchored the same entry. */
export const insertAnchor = defineWrite<AnchorRow>({
  table: "audit_anchors",
  sortKey: ({ number }) => String(number),
  queries: (sql, tenantId, anchors) =>
    anchors.map(
      (anchor) => sql`insert into audit_anchors ${sql({ tenant_id: tenantId, ...anchor })} on conflict do nothing`,
    ),
});

/** The number of the last entry that a stamp covers; 0 without any. */
export const readLastAnchored = defineStatement<"last", number, { readonly number: number }>({
  table: "audit_anchors",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId) => [
    sql`select coalesce(max(number), 0)::bigint as number from audit_anchors where tenant_id = ${tenantId}`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows[0]?.number ?? 0),
});
