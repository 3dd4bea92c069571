import type { Uuid } from "../../base/ids.js";
import { defineRemoval } from "../statements/removal.js";
import { defineStatement, defineWrite } from "../statements/statement.js";
import { isUnexpired } from "../statements/unexpired.js";

/** A sign-in that has begun. */
export interface SignInRequestRow {
  readonly id: Uuid;
  readonly method: string;
  readonly browser_hash: Buffer | null;
  /** Sealed. */
  readonly details: Buffer;
  readonly expires_at: Date;
}

export const insertSignInRequest = defineWrite<SignInRequestRow>({
  table: "sign_in_requests",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map((input) => {
      const row = { tenant_id: tenantId, created_at: at, ...input };
      return sql`insert into sign_in_requests ${sql(row)}`;
    }),
});

/** A request that is neither used nor expired. */
export const readSignInRequest = defineStatement<Uuid, SignInRequestRow | null, SignInRequestRow>({
  table: "sign_in_requests",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids, at) =>
    ids.map(
      (id) => sql`
        select id, method, browser_hash, details, expires_at from sign_in_requests
        where tenant_id = ${tenantId} and id = ${id} and used_at is null and ${isUnexpired(sql, "expires_at", at)}`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Replaces the details of a request that is neither used nor expired. Returns whether there is one. */
export const updateSignInRequest = defineStatement<Pick<SignInRequestRow, "id" | "details">, boolean, unknown>({
  table: "sign_in_requests",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      ({ id, details }) => sql`
        update sign_in_requests set details = ${details}
        where tenant_id = ${tenantId} and id = ${id} and used_at is null and expires_at > ${at} returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Uses a request, once: of two concurrent uses one gets the row. */
export const useSignInRequest = defineStatement<Uuid, SignInRequestRow | null, SignInRequestRow>({
  table: "sign_in_requests",
  kind: "write",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids, at) =>
    ids.map(
      (id) => sql`
        update sign_in_requests set used_at = ${at}
        where tenant_id = ${tenantId} and id = ${id} and used_at is null and expires_at > ${at}
        returning id, method, browser_hash, details, expires_at`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Deletes requests after their end. */
export const deleteDueSignInRequests = defineRemoval("sign_in_requests", "expires_at");
