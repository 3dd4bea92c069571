import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import { defineRemoval } from "../statements/removal.js";
import { defineChange, defineDelete, defineRead, defineRow, defineRows } from "../statements/row-statements.js";
import { isUnexpired } from "../statements/unexpired.js";

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

const COLUMNS = "id, token_hash, member_id, method, details, created_at, last_seen_at, expires_at, strong_at";

export const insertSignIn = defineChange<NewSignIn>(
  "sign_ins",
  (sql, tenantId, row, at) => sql`
    insert into sign_ins ${sql({ tenant_id: tenantId, created_at: at, last_seen_at: at, ...row })}`,
);

export interface PresentedSignInRow extends SignInRow {
  readonly user_id: Uuid;
  readonly role: string;
  readonly profile: Buffer;
  readonly settings: JsonObject;
  readonly event_types: readonly string[];
  readonly revision: number;
}

/** The sign-in of a cookie, unless it has expired or its member or tenant is gone. */
export const findSignIn = defineRow<Buffer, PresentedSignInRow>(
  "sign_ins",
  (sql, tenantId, hash, at) => sql`
    select s.id, s.token_hash, s.member_id, s.method, s.details, s.created_at, s.last_seen_at, s.expires_at,
      s.strong_at, m.user_id, m.role, m.profile, t.settings, t.event_types, t.auth_revision as revision
    from sign_ins s
    join members m on m.tenant_id = s.tenant_id and m.id = s.member_id
    join tenants t on t.tenant_id = s.tenant_id and t.state = 'active'
    where s.tenant_id = ${tenantId} and s.token_hash = ${hash} and ${isUnexpired(sql, "s.expires_at", at)}`,
);

/** Records that a sign-in is used now. */
export const touchSignIn = defineChange<Uuid>(
  "sign_ins",
  (sql, tenantId, id, at) => sql`update sign_ins set last_seen_at = ${at} where tenant_id = ${tenantId} and id = ${id}`,
);

export const stepUpSignIn = defineChange<Pick<SignInRow, "id" | "details"> & { readonly strong_at: Date }>(
  "sign_ins",
  (sql, tenantId, { id, details, strong_at }) => sql`
    update sign_ins set details = ${details}, strong_at = ${strong_at}
    where tenant_id = ${tenantId} and id = ${id}`,
);

export const listSignIns = defineRows<Uuid, SignInRow>(
  "sign_ins",
  (sql, tenantId, memberId, at) => sql`
    select ${sql.unsafe(COLUMNS)}
    from sign_ins where tenant_id = ${tenantId} and member_id = ${memberId} and expires_at > ${at}
    order by created_at desc, id desc limit 100`,
);

export const readSignIn = defineRead<SignInRow>("sign_ins", COLUMNS);

export interface SignInOwner {
  readonly member_id: Uuid;
  readonly role: string;
}

export const readSignInOwner = defineRow<Uuid, SignInOwner>(
  "sign_ins",
  (sql, tenantId, id) => sql`
    select s.member_id, m.role from sign_ins s
    join members m on m.tenant_id = s.tenant_id and m.id = s.member_id
    where s.tenant_id = ${tenantId} and s.id = ${id}`,
);

/** Ends a sign-in. Returns whether it existed. */
export const deleteSignIn = defineDelete("sign_ins");

export const deleteMemberSignIns = defineChange<Uuid>(
  "sign_ins",
  (sql, tenantId, memberId) => sql`delete from sign_ins where tenant_id = ${tenantId} and member_id = ${memberId}`,
);

export const deleteOtherSignIns = defineChange<Pick<SignInRow, "id" | "member_id">>(
  "sign_ins",
  (sql, tenantId, { id, member_id }) => sql`
    delete from sign_ins where tenant_id = ${tenantId} and member_id = ${member_id} and id <> ${id}`,
);

export const deleteDueSignIns = defineRemoval("sign_ins", "expires_at");
