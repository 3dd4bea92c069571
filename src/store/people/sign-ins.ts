import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import { defineRemoval } from "../statements/removal.js";
import { defineStatement, defineWrite } from "../statements/statement.js";
import { isUnexpired } from "../statements/unexpired.js";

/** The columns that a sign-in's details are sealed with, and the details. */
export interface SignInRow {
  readonly id: Uuid;
  readonly token_hash: Buffer;
  readonly member_id: Uuid;
  readonly method: string;
  /** Sealed. */
  readonly details: Buffer;
  readonly created_at: Date;
  readonly last_seen_at: Date;
  readonly expires_at: Date;
  readonly strong_at: Date | null;
}

export type NewSignIn = Omit<SignInRow, "created_at" | "last_seen_at">;

export const insertSignIn = defineWrite<NewSignIn>({
  table: "sign_ins",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map((input) => {
      const row = { tenant_id: tenantId, created_at: at, last_seen_at: at, ...input };
      return sql`insert into sign_ins ${sql(row)}`;
    }),
});

/** A sign-in with its member and the tenant's state. */
export interface PresentedSignInRow extends SignInRow {
  readonly user_id: Uuid;
  readonly role: string;
  readonly profile: Buffer;
  readonly settings: JsonObject;
  readonly revision: number;
}

/** The sign-in of a cookie, unless it has expired or its member or tenant is gone. */
export const findSignIn = defineStatement<Buffer, PresentedSignInRow | null, PresentedSignInRow>({
  table: "sign_ins",
  kind: "read",
  sortKey: (hash) => hash.toString("hex"),
  queries: (sql, tenantId, hashes, at) =>
    hashes.map(
      (hash) => sql`
        select s.id, s.token_hash, s.member_id, s.method, s.details, s.created_at, s.last_seen_at, s.expires_at,
          s.strong_at, m.user_id, m.role, m.profile, t.settings, t.auth_revision as revision
        from sign_ins s
        join members m on m.tenant_id = s.tenant_id and m.id = s.member_id
        join tenants t on t.tenant_id = s.tenant_id and t.state = 'active'
        where s.tenant_id = ${tenantId} and s.token_hash = ${hash} and ${isUnexpired(sql, "s.expires_at", at)}`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Records that a sign-in is used now. */
export const touchSignIn = defineWrite<Uuid>({
  table: "sign_ins",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids, at) => [
    sql`update sign_ins set last_seen_at = ${at} where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])`,
  ],
});

/** Records that the person of a sign-in proved a second factor. */
export const strengthenSignIn = defineWrite<Pick<SignInRow, "id" | "details"> & { readonly strong_at: Date }>({
  table: "sign_ins",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ id, details, strong_at }) => sql`
        update sign_ins set details = ${details}, strong_at = ${strong_at}
        where tenant_id = ${tenantId} and id = ${id}`,
    ),
});

/** The sign-ins of a member that have not expired, newest first. */
export const listSignIns = defineStatement<Uuid, readonly SignInRow[], SignInRow>({
  table: "sign_ins",
  kind: "read",
  sortKey: (memberId) => memberId,
  queries: (sql, tenantId, memberIds, at) =>
    memberIds.map(
      (memberId) => sql`
        select id, token_hash, member_id, method, details, created_at, last_seen_at, expires_at, strong_at
        from sign_ins where tenant_id = ${tenantId} and member_id = ${memberId} and expires_at > ${at}
        order by created_at desc, id desc limit 100`,
    ),
  answers: (rows) => rows,
});

export const readSignIn = defineStatement<Uuid, SignInRow | null, SignInRow>({
  table: "sign_ins",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map(
      (id) => sql`
        select id, token_hash, member_id, method, details, created_at, last_seen_at, expires_at, strong_at
        from sign_ins where tenant_id = ${tenantId} and id = ${id}`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

export interface SignInOwner {
  readonly member_id: Uuid;
  readonly role: string;
}

/** The member that a sign-in belongs to. */
export const readSignInOwner = defineStatement<Uuid, SignInOwner | null, SignInOwner>({
  table: "sign_ins",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map(
      (id) => sql`
        select s.member_id, m.role from sign_ins s
        join members m on m.tenant_id = s.tenant_id and m.id = s.member_id
        where s.tenant_id = ${tenantId} and s.id = ${id}`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Ends a sign-in. Returns whether it existed. */
export const deleteSignIn = defineStatement<Uuid, boolean, unknown>({
  table: "sign_ins",
  kind: "write",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map((id) => sql`delete from sign_ins where tenant_id = ${tenantId} and id = ${id} returning 1`),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Ends all sign-ins of a member. */
export const deleteSignInsOf = defineWrite<Uuid>({
  table: "sign_ins",
  sortKey: (memberId) => memberId,
  queries: (sql, tenantId, memberIds) => [
    sql`delete from sign_ins where tenant_id = ${tenantId} and member_id = any(${[...memberIds]}::uuid[])`,
  ],
});

/** Ends all sign-ins of a member but one. */
export const deleteOtherSignIns = defineWrite<Pick<SignInRow, "id" | "member_id">>({
  table: "sign_ins",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ id, member_id }) => sql`
        delete from sign_ins where tenant_id = ${tenantId} and member_id = ${member_id} and id <> ${id}`,
    ),
});

/** Deletes sign-ins after their absolute end. */
export const deleteDueSignIns = defineRemoval("sign_ins", "expires_at");
