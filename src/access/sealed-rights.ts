import { isJsonObject, type JsonObject } from "../base/json.js";
import { sealedProof, sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { NewApplication, RightsColumns } from "../store/access/applications.js";
import type { KeyCredentialRow } from "../store/access/credentials.js";
import type { SessionColumns } from "../store/access/sessions.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import { type AccessRights, parseRights, readRule, writeRule } from "./access-rule.js";
import type { SessionFrame } from "./caller.js";
import { type Pages, readPages, writePages } from "./pages.js";
import type { ApplicationType } from "./permissions.js";

/*
 * The rights of a key are sealed: the owner of the database can remove rights by changing rows, but cannot grant any.
 */

export interface NamedRights extends AccessRights, Pages {
  readonly name: string;
}

/** The same with the number of its changes, by which `audit verify` finds a row that was put back. */
export interface SealedRights extends NamedRights {
  readonly revision: number;
}

/** The sealed content about a session's rights. */
export interface SessionRights extends AccessRights {
  readonly frame?: SessionFrame;
}

/** The columns of an application that its rights are bound to. */
export type ApplicationColumns = Pick<NewApplication, "id" | "created_by"> & { readonly type: ApplicationType };

/** The columns of an application that say what it may do. */
export function rightsColumns(keys: TenantKeys, row: ApplicationColumns, rights: SealedRights): RightsColumns {
  return { type: row.type, definition: applicationRecord.seal(keys, row, rights) };
}

/** @throws {SealBroken} if no server wrote the rights. */
export function openRights(keys: TenantKeys, row: ApplicationColumns, definition: Buffer): SealedRights {
  const { permissions, rules, ...stored } = applicationRecord.open(keys, row, definition);
  return { ...stored, ...parseRights(row.type, permissions, rules) };
}

const applicationRecord = sealedRecord({
  field: "application",
  bound: AAD_COLUMNS.applications,
  write: ({ name, revision, permissions, rules, ...pages }: SealedRights) => ({
    name,
    revision,
    permissions,
    rules: rules.map(writeRule),
    ...writePages(pages),
  }),
  read: (stored) => ({
    name: String(stored.name),
    revision: Number(stored.revision),
    ...storedRights(stored),
    ...readPages(stored),
  }),
});

/** Proves that a server gave a key to its application. */
export const keyIssuanceProof = sealedProof({ field: "application_key", bound: AAD_COLUMNS.application_keys });

/**
 * Whether a key still works.
 * @throws {SealBroken} if no server gave it to its application, or with another end.
 */
export function isValidKey(keys: TenantKeys, row: KeyCredentialRow, now: number): boolean {
  const { key_id: id, key_created_by: created_by, key_expires_at: expires_at, proof, application_id, key_hash } = row;
  keyIssuanceProof.require(keys, { id, application_id, key_hash, created_by, expires_at, proof });
  return expires_at === null || expires_at.getTime() > now;
}

export interface KeyDetails {
  readonly name: string | undefined;
  readonly owner: string | undefined;
}

export const keyDetailsRecord = sealedRecord({
  field: "key_details",
  write: ({ name, owner }: KeyDetails) => ({ name: name ?? null, owner: owner ?? null }),
  read: ({ name, owner }): KeyDetails => ({
    name: typeof name === "string" ? name : undefined,
    owner: typeof owner === "string" ? owner : undefined,
  }),
});

export function sealSessionRights(
  keys: TenantKeys,
  session: Omit<SessionColumns, "rights">,
  rights: SessionRights,
): Buffer {
  return sessionRecord.seal(keys, session, rights);
}

/** @throws {SealBroken} if no server wrote the session. */
export function openSessionRights(keys: TenantKeys, session: SessionColumns): SessionRights {
  const { permissions, rules, frame } = sessionRecord.open(keys, session, session.rights);
  const held =
    session.authorized_by === null ? { permissions: [], rules: [] } : parseRights("session", permissions, rules);
  return { ...held, ...(frame ? { frame } : {}) };
}

const sessionRecord = sealedRecord({
  field: "session",
  bound: AAD_COLUMNS.sessions,
  write: ({ permissions, rules, frame }: SessionRights) => ({
    permissions,
    rules: rules.map(writeRule),
    ...(frame ? { frame: { pass: frame.pass, network: frame.network ?? null } } : {}),
  }),
  read: (stored) => ({ ...storedRights(stored), frame: frameIn(stored) }),
});

function frameIn({ frame }: JsonObject): SessionFrame | undefined {
  if (!isJsonObject(frame)) return undefined;
  return { pass: String(frame.pass), network: typeof frame.network === "string" ? frame.network : undefined };
}

/** Rights as they are stored, to be checked again. */
function storedRights({ permissions, rules }: JsonObject) {
  if (!Array.isArray(permissions) || !Array.isArray(rules)) throw new Error("rights of an unknown form are stored");
  return { permissions: permissions.map(String), rules: rules.map(readRule) };
}
