import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import type { PageRequest } from "../../base/page.js";
import { defineList, matchesAny } from "../statements/counted-page.js";
import { byteaArray } from "../statements/parameters.js";
import { defineRemoval } from "../statements/removal.js";
import { defineDelete, defineHasWritten, defineInsert, defineRead, defineRow } from "../statements/row-statements.js";
import { defineStatement } from "../statements/statement.js";
import { isUnexpired } from "../statements/unexpired.js";

export interface SessionColumns {
  readonly id: Uuid;
  readonly key_hash: Buffer;
  readonly nonce_hash: Buffer;
  readonly application_id: Uuid;
  /** Null until it is authorized. */
  readonly authorized_by: Uuid | null;
  readonly expires_at: Date;
  /** Sealed: permissions, rules and the frame. */
  readonly rights: Buffer;
}

export type NewSession = Omit<SessionColumns, "authorized_by">;

const COLUMNS = "id, key_hash, nonce_hash, application_id, authorized_by, expires_at, rights";

export const insertSession = defineInsert<NewSession>("sessions");

export const findSessionByNonce = defineRow<Buffer, SessionColumns>(
  "sessions",
  (sql, tenantId, hash, at) => sql`
    select ${sql.unsafe(COLUMNS)} from sessions
    where tenant_id = ${tenantId} and nonce_hash = ${hash} and ${isUnexpired(sql, "expires_at", at)}`,
);

export interface SessionAuthorization {
  readonly id: Uuid;
  readonly rights: Buffer;
  readonly authorized_by: Uuid;
  readonly expires_at: Date;
}

/** Gives a session its rights, once. Returns false if it already had them. */
export const authorizeSession = defineHasWritten<SessionAuthorization>(
  "sessions",
  (sql, tenantId, { id, rights, authorized_by, expires_at }) => sql`
    update sessions set rights = ${rights}, authorized_by = ${authorized_by}, expires_at = ${expires_at}
    where tenant_id = ${tenantId} and id = ${id} and authorized_by is null returning 1`,
);

/** The rights of a session key: its own, limited by its authorizer's current rights. */
export interface SessionRow extends SessionColumns {
  readonly revision: number;
  readonly settings: JsonObject;
  readonly event_types: readonly string[];
  readonly application_type: string;
  readonly application_definition: Buffer;
  readonly application_created_by: Uuid | null;
  /** Null until it is authorized, and after its authorizer was deleted. */
  readonly authorizer_type: string | null;
  readonly authorizer_definition: Buffer | null;
  readonly authorizer_created_by: Uuid | null;
}

export const findSession = defineStatement<Buffer, SessionRow | null, SessionRow>({
  table: "sessions",
  kind: "read",
  queries: (sql, tenantId, hashes, at) => [
    sql`
      select t.auth_revision as revision, t.settings, t.event_types, s.key_hash, s.nonce_hash, s.id, s.expires_at, s.rights,
        s.authorized_by, a.id as application_id, a.type as application_type, a.definition as application_definition,
        a.created_by as application_created_by, b.type as authorizer_type, b.definition as authorizer_definition,
        b.created_by as authorizer_created_by
      from sessions s
      join applications a on a.tenant_id = s.tenant_id and a.id = s.application_id
      join tenants t on t.tenant_id = s.tenant_id and t.state = 'active'
      left join applications b on b.tenant_id = s.tenant_id and b.id = s.authorized_by
      where s.tenant_id = ${tenantId} and s.key_hash = any(${byteaArray(sql, hashes)})
        and ${isUnexpired(sql, "s.expires_at", at)}`,
  ],
  outputs: ([rows = []], hashes) => hashes.map((hash) => rows.find((row) => row.key_hash.equals(hash)) ?? null),
});

export interface ListedSessionRow extends SessionColumns {
  readonly created_at: Date;
}

export interface SessionListing extends PageRequest {
  /** If not empty, lists only those that these applications made. */
  readonly applicationIds: readonly Uuid[];
  /** Lists only those that end later. */
  readonly at: Date;
}

const LISTED = `${COLUMNS}, created_at`;

/** A page of the sessions that have not ended, newest first. */
export const listSessionRows = defineList<SessionListing, ListedSessionRow>(
  "sessions",
  LISTED,
  // The sessions of an application that was deleted stay until they expire, and are refused.
  (sql, { applicationIds, at }, tenantId) => sql`
    and expires_at > ${at} ${matchesAny(sql, "application_id", applicationIds)}
    and exists (select 1 from applications a where a.tenant_id = ${tenantId} and a.id = sessions.application_id)`,
  (sql) => sql`octet_length(rights)`,
);

export const readSession = defineRead<ListedSessionRow>("sessions", LISTED);

export const deleteSessionRow = defineDelete("sessions");

export const deleteDueSessions = defineRemoval("sessions", "expires_at");
