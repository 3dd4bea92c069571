import type { Uuid } from "../base/ids.js";
import { isNotOver } from "./not-over.js";
import { defineRemoval } from "./removal.js";
import { defineStatement, defineWrite } from "./statement.js";

export interface ThreeDSSessionRow {
  readonly id: Uuid;
  readonly token_id: string;
  readonly record: Buffer;
  readonly payment_id: Uuid | null;
  readonly revision: number;
  readonly expires_at: Date;
  readonly created_at: Date;
}

export const insertThreeDSSession = defineWrite<Pick<ThreeDSSessionRow, "id" | "token_id" | "record" | "expires_at">>({
  table: "three_ds_sessions",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map((input) => {
      const row = { tenant_id: tenantId, payment_id: null, revision: 1, created_at: at, ...input };
      return sql`insert into three_ds_sessions ${sql(row)}`;
    }),
});

/** A session that is not over its time. */
export const readThreeDSSession = defineStatement<Uuid, ThreeDSSessionRow | null, ThreeDSSessionRow>({
  table: "three_ds_sessions",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids, at) => [
    sql`
      select id, token_id, record, payment_id, revision, expires_at, created_at from three_ds_sessions
      where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])
        and ${isNotOver(sql, "expires_at", at)}`,
  ],
  answers: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.id === id) ?? null),
});

export type ThreeDSSessionChange = Pick<ThreeDSSessionRow, "id" | "record" | "payment_id" | "revision">;

/** Answers whether nobody changed the session since it was read. */
export const updateThreeDSSession = defineStatement<ThreeDSSessionChange, boolean, unknown>({
  table: "three_ds_sessions",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, changes) =>
    changes.map(
      ({ id, record, payment_id, revision }) => sql`
        update three_ds_sessions set record = ${record}, payment_id = ${payment_id}, revision = revision + 1
        where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

export const deleteDueThreeDSSessions = defineRemoval("three_ds_sessions", "expires_at");
