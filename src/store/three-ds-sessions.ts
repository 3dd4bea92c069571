import type { Uuid } from "../base/ids.js";
import { boundWrite } from "./bound-statement.js";
import { isNotOver } from "./not-over.js";
import { bytes, uuid } from "./parameter.js";
import { defineRemoval } from "./removal.js";
import { lockedRead } from "./row-lock.js";
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

/** A session that has not expired. */
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

/** Reads an unexpired session, and locks it until the transaction ends. */
export const lockThreeDSSession = lockedRead("three_ds_sessions", { id: uuid((id: Uuid) => id) }, readThreeDSSession);

/** Changes a locked session. */
export const updateThreeDSSession = boundWrite<Pick<ThreeDSSessionRow, "id" | "record" | "payment_id">>({
  table: "three_ds_sessions",
  sql: `
    update three_ds_sessions set record = :record, payment_id = :payment_id, revision = revision + 1
    where tenant_id = :tenant and id = :id`,
  parameters: {
    id: uuid(({ id }) => id),
    record: bytes(({ record }) => record),
    payment_id: uuid(({ payment_id }) => payment_id),
  },
  sortKey: ({ id }) => id,
});

export const deleteDueThreeDSSessions = defineRemoval("three_ds_sessions", "expires_at");
