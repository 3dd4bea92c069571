import type { Uuid } from "../../base/ids.js";
import { boundWrite } from "../statements/bound-statement.js";
import { bytes, text, time, uuid } from "../statements/parameter.js";
import { defineRemoval } from "../statements/removal.js";
import { readRow } from "../statements/single-row.js";
import { IS_UNEXPIRED_SQL } from "../statements/unexpired.js";
import { lockedById } from "../transactions/row-lock.js";

export interface ThreeDSSessionRow {
  readonly id: Uuid;
  readonly token_id: string;
  readonly record: Buffer;
  readonly payment_id: Uuid | null;
  readonly revision: number;
  readonly expires_at: Date;
  readonly created_at: Date;
}

export const insertThreeDSSession = boundWrite<Pick<ThreeDSSessionRow, "id" | "token_id" | "record" | "expires_at">>({
  table: "three_ds_sessions",
  sql: `
    insert into three_ds_sessions (tenant_id, id, token_id, record, revision, expires_at, created_at)
    values (:tenant, :id, :token_id, :record, 1, :expires_at, :now)`,
  parameters: {
    id: uuid(({ id }) => id),
    token_id: text(({ token_id }) => token_id),
    record: bytes(({ record }) => record),
    expires_at: time(({ expires_at }) => expires_at),
  },
});

/** A session that has not expired. */
export const readThreeDSSession = readRow<Uuid, ThreeDSSessionRow>({
  table: "three_ds_sessions",
  sql: `
    select id, token_id, record, payment_id, revision, expires_at, created_at from three_ds_sessions
    where tenant_id = :tenant and id = :id and ${IS_UNEXPIRED_SQL}`,
  parameters: { id: uuid((id) => id) },
  row: (column) => ({
    id: column.uuid(),
    token_id: column.text(),
    record: column.bytes(),
    payment_id: column.uuidOrNull(),
    revision: column.integer(),
    expires_at: column.time(),
    created_at: column.time(),
  }),
});

/** Reads an unexpired session, and locks it until the transaction ends. */
export const lockThreeDSSession = lockedById("three_ds_sessions", readThreeDSSession);

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
});

export const deleteDueThreeDSSessions = defineRemoval("three_ds_sessions", "expires_at");
