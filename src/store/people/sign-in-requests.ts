import type { Uuid } from "../../base/ids.js";
import { defineRemoval } from "../statements/removal.js";
import {
  defineChange,
  defineHasWritten,
  defineInsert,
  defineRow,
  defineWrittenRow,
} from "../statements/row-statements.js";
import { isUnexpired } from "../statements/unexpired.js";

export interface SignInRequestRow {
  readonly id: Uuid;
  readonly method: string;
  readonly browser_hash: Buffer | null;
  /** Sealed. */
  readonly details: Buffer;
  readonly expires_at: Date;
}

export const insertSignInRequest = defineInsert<SignInRequestRow>("sign_in_requests");

/**
 * Inserts a request with a mail of its own, unless another one that is not used has this key: its mail then serves both.
 * Returns whether it was inserted.
 */
export const insertMailedRequest = defineHasWritten<SignInRequestRow & { readonly mail_key: Buffer }>(
  "sign_in_requests",
  (sql, tenantId, row, at) => sql`
    insert into sign_in_requests ${sql({ tenant_id: tenantId, created_at: at, ...row })}
    on conflict (tenant_id, mail_key) where used_at is null do nothing returning 1`,
);

/** Lets the next request with this key have a mail of its own. */
export const unshareMail = defineChange<Buffer>(
  "sign_in_requests",
  (sql, tenantId, key) => sql`
    update sign_in_requests set mail_key = null
    where tenant_id = ${tenantId} and mail_key = ${key} and used_at is null`,
);

/** A request that is neither used nor expired. */
export const readSignInRequest = defineRow<Uuid, SignInRequestRow>(
  "sign_in_requests",
  (sql, tenantId, id, at) => sql`
    select id, method, browser_hash, details, expires_at from sign_in_requests
    where tenant_id = ${tenantId} and id = ${id} and used_at is null and ${isUnexpired(sql, "expires_at", at)}`,
);

/** Replaces the details of a request that is neither used nor expired. Returns whether there is one. */
export const updateSignInRequest = defineHasWritten<Pick<SignInRequestRow, "id" | "details">>(
  "sign_in_requests",
  (sql, tenantId, { id, details }, at) => sql`
    update sign_in_requests set details = ${details}
    where tenant_id = ${tenantId} and id = ${id} and used_at is null and expires_at > ${at} returning 1`,
);

/** Uses a request, once: of two concurrent uses one gets the row. */
export const consumeSignInRequest = defineWrittenRow<Uuid, SignInRequestRow>(
  "sign_in_requests",
  (sql, tenantId, id, at) => sql`
    update sign_in_requests set used_at = ${at}
    where tenant_id = ${tenantId} and id = ${id} and used_at is null and expires_at > ${at}
    returning id, method, browser_hash, details, expires_at`,
);

/** Deletes requests after their end. */
export const deleteDueSignInRequests = defineRemoval("sign_in_requests", "expires_at");
