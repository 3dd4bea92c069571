import type { Uuid } from "../../base/ids.js";
import { boundQuery, boundWrite } from "../statements/bound-statement.js";
import { bigint, bytes, text, time, uuid } from "../statements/parameter.js";
import { readRow } from "../statements/single-row.js";

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

export const insertStamp = boundWrite<StampRow>({
  table: "audit_stamps",
  sql: "insert into audit_stamps (tenant_id, id, stamped_at, token) values (:tenant, :id, :stamped_at, :token)",
  parameters: {
    id: uuid(({ id }) => id),
    stamped_at: time(({ stamped_at }) => stamped_at),
    token: bytes(({ token }) => token),
  },
});

export const readStamp = readRow<Uuid, StampRow>({
  table: "audit_stamps",
  sql: "select id, stamped_at, token from audit_stamps where tenant_id = :tenant and id = :id",
  parameters: { id: uuid((id) => id) },
  row: (column) => ({ id: column.uuid(), stamped_at: column.time(), token: column.bytes() }),
});

/** Another replica may have anchored the same entry. */
export const insertAnchor = boundWrite<AnchorRow>({
  table: "audit_anchors",
  sql: `
    insert into audit_anchors (tenant_id, number, stamp_id, proof) values (:tenant, :number, :stamp_id, :proof)
    on conflict do nothing`,
  parameters: {
    number: bigint(({ number }) => number),
    stamp_id: uuid(({ stamp_id }) => stamp_id),
    proof: text(({ proof }) => proof),
  },
  sortKey: ({ number }) => String(number),
});

/** The number of the last entry that a stamp covers; 0 without any. */
export const readLastAnchored = boundQuery<"last", number, number>({
  table: "audit_anchors",
  kind: "read",
  sql: "select coalesce(max(number), 0)::bigint from audit_anchors where tenant_id = :tenant",
  row: (column) => column.integer(),
  outputs: (rows) => rows.map(([number]) => number ?? 0),
});
