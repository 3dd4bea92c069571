import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import { byteaArray } from "../statements/parameters.js";
import { defineRemoval } from "../statements/removal.js";
import { defineHasRow, defineInsert, defineRow } from "../statements/row-statements.js";
import { defineStatement } from "../statements/statement.js";
import { isUnexpired } from "../statements/unexpired.js";

/** The columns that say whose a session is, and when it expires. */
export interface SessionColumns {
  readonly id: Uuid;
  readonly key_hash: Buffer;
  readonly nonce_hash: Buffer;
  readonly application_id: Uuid;
  /** Null until it is authorized. */
  readonly authorized_by: Uuid | null;
  readonly expires_at: Date;
  /** Sealed. Null if the tenant's keys are older than the sealing of rights. */
  readonly rights: Buffer | null;
}

export type NewSession = Omit<SessionColumns, "authorized_by">;

export const insertSession = defineInsert<NewSession>("sessions");

export const findSessionByNonce = defineRow<Buffer, SessionColumns>(
  "read",
  "sessions",
  (sql, tenantId, hash, at) => sql`
    select id, key_hash, nonce_hash, application_id, authorized_by, expires_at, rights from sessions
    where tenant_id = ${tenantId} and nonce_hash = ${hash} and ${isUnexpired(sql, "expires_at", at)}`,
);

export interface SessionAuthorization {
  readonly id: Uuid;
  /** This and the rules are empty if the rights are sealed. */
  readonly permissions: readonly string[];
  readonly rules: readonly JsonObject[];
  readonly rights: Buffer | null;
  readonly authorized_by: Uuid;
  readonly expires_at: Date;
}

/** Gives a session its rights, once. Returns false if it already had them. */
export const authorizeSession = defineHasRow<SessionAuthorization>(
  "write",
  "sessions",
  (sql, tenantId, { id, permissions, rules, rights, authorized_by, expires_at }) => sql`
    update sessions set permissions = ${[...permissions]}::text[], rules = ${sql.json([...rules])},
      rights = ${rights}, authorized_by = ${authorized_by}, expires_at = ${expires_at}
    where tenant_id = ${tenantId} and id = ${id} and authorized_by is null returning 1`,
);

/** The rights of a session key: its own, limited by its authorizer's current rights. */
export interface SessionRow extends SessionColumns {
  readonly revision: number;
  readonly settings: JsonObject;
  readonly application_type: string;
  /** Null until it is authorized; empty if its rights are sealed. */
  readonly permissions: string[] | null;
  readonly rules: JsonObject[] | null;
  /** Null until it is authorized, and after its authorizer was deleted. */
  readonly authorizer_type: string | null;
  readonly authorizer_permissions: string[] | null;
  readonly authorizer_rules: JsonObject[] | null;
  readonly authorizer_definition: Buffer | null;
}

/** Finds an unexpired session by its key's hash. */
export const findSession = defineStatement<Buffer, SessionRow | null, SessionRow>({
  table: "sessions",
  kind: "read",
  sortKey: (hash) => hash.toString("hex"),
  queries: (sql, tenantId, hashes, at) => [
    sql`
      select t.auth_revision as revision, t.settings, s.key_hash, s.nonce_hash, s.id, s.expires_at, s.permissions, s.rules, s.rights,
        s.authorized_by, a.id as application_id, a.type as application_type, b.type as authorizer_type,
        b.permissions as authorizer_permissions, b.rules as authorizer_rules, b.definition as authorizer_definition
      from sessions s
      join applications a on a.tenant_id = s.tenant_id and a.id = s.application_id
      join tenants t on t.tenant_id = s.tenant_id and t.state = 'active'
      left join applications b on b.tenant_id = s.tenant_id and b.id = s.authorized_by
      where s.tenant_id = ${tenantId} and s.key_hash = any(${byteaArray(sql, hashes)})
        and ${isUnexpired(sql, "s.expires_at", at)}`,
  ],
  outputs: ([rows = []], hashes) => hashes.map((hash) => rows.find((row) => row.key_hash.equals(hash)) ?? null),
});

/** Deletes expired sessions. */
export const deleteDueSessions = defineRemoval("sessions", "expires_at");
