import { Fault } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { encodeAad, open, SealBroken, type SealContext, seal } from "../crypto/sealed.js";
import { requiresSeals, type TenantKeys } from "../crypto/tenant-keys.js";
import type { NewApplicationKey } from "../store/access/application-keys.js";
import type { RightsColumns } from "../store/access/applications.js";
import type { SessionColumns } from "../store/access/sessions.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-rows.js";
import { type AccessRights, parseRights, readRule, writeRule } from "./access-rule.js";
import type { ApplicationType } from "./permissions.js";

/*
 * The rights of a key are sealed: the owner of the database can remove rights by changing rows, but cannot grant any.
 * Only tenants whose keys are from an earlier release have rights in the clear, until `cloakroom keys rotate`.
 */

/** The sealed content about an application's rights. */
export interface NamedRights extends AccessRights {
  readonly name: string;
  readonly allowedOrigins: readonly string[];
}

/** A row that decides access has no seal, in a tenant whose rows all have one. No server of ours wrote it. */
export class SealMissing extends SealBroken {}

export function rightsColumns(
  keys: TenantKeys,
  tenantId: TenantId,
  { id, type }: { readonly id: Uuid; readonly type: ApplicationType },
  { name, permissions, rules, allowedOrigins }: NamedRights,
): RightsColumns {
  const written = { name, permissions: [...permissions], rules: rules.map(writeRule) };
  if (requiresSeals(keys)) return { type, ...sealedRights(keys, tenantId, { id, type }, written, allowedOrigins) };
  if (allowedOrigins.length > 0) throw originsNeedSeals();
  return { type, ...written, definition: null };
}

/** The columns of an application whose rights are sealed. */
export function sealedRights(
  keys: Pick<TenantKeys, "data">,
  tenantId: TenantId,
  application: { readonly id: Uuid; readonly type: string },
  { name, permissions, rules }: Pick<RightsColumns, "name" | "permissions" | "rules">,
  allowedOrigins: readonly string[] = [],
): Omit<RightsColumns, "type"> {
  const origins = allowedOrigins.length > 0 ? { allowed_origins: [...allowedOrigins] } : {};
  const written: JsonObject = { name, permissions: [...permissions], rules: [...rules], ...origins };
  const definition = seal(keys.data, applicationPlace(tenantId, application), Buffer.from(JSON.stringify(written)));
  return { name: "", permissions: [], rules: [], definition };
}

/** Rows of earlier releases have no place for them. */
function originsNeedSeals(): Fault {
  const text =
    "This tenant's rights are not sealed yet. Ask the operator to run `cloakroom keys rotate`, then try again.";
  return new Fault("unprocessable", text);
}

/** @throws {SealBroken} if no server wrote the rights. */
export function openRights(
  keys: TenantKeys,
  tenantId: TenantId,
  id: Uuid,
  type: ApplicationType,
  row: Omit<RightsColumns, "type">,
): NamedRights {
  if (row.definition === null) {
    requireUnsealed(keys, "the rights of an application have no seal");
    return { name: row.name, ...parseRights(type, row.permissions, row.rules.map(readRule)), allowedOrigins: [] };
  }
  const stored = objectIn(open(keys.data, applicationPlace(tenantId, { id, type }), row.definition));
  const { allowed_origins: origins } = stored;
  const allowedOrigins = Array.isArray(origins) ? origins.map(String) : [];
  return { name: String(stored.name), ...storedRights(type, stored), allowedOrigins };
}

type KeyColumns = Omit<NewApplicationKey, "proof" | "created_by">;

/** Proves that a server gave a key to its application. Null if the tenant's keys do not seal rights. */
export function keyIssuanceSeal(keys: Pick<TenantKeys, "data">, tenantId: TenantId, key: KeyColumns): Buffer | null {
  return requiresSeals(keys) ? seal(keys.data, keyPlace(tenantId, key), NOTHING) : null;
}

/** @throws {SealBroken} if no server gave the key to its application. */
export function requireKeyIssuanceSeal(
  keys: TenantKeys,
  tenantId: TenantId,
  { proof, ...key }: KeyColumns & { readonly proof: Buffer | null },
): void {
  if (proof === null) requireUnsealed(keys, "the key of an application has no seal");
  else open(keys.data, keyPlace(tenantId, key), proof);
}

/**
 * Seals the rights of a session.
 * @returns null if the tenant's keys do not seal rights.
 */
export function sealSessionRights(
  keys: TenantKeys,
  tenantId: TenantId,
  session: Omit<SessionColumns, "rights">,
  { permissions, rules }: AccessRights,
): Buffer | null {
  return sealSessionColumns(keys, tenantId, session, { permissions, rules: rules.map(writeRule) });
}

/** The same, for stored rights. */
export function sealSessionColumns(
  keys: Pick<TenantKeys, "data">,
  tenantId: TenantId,
  session: Omit<SessionColumns, "rights">,
  {
    permissions,
    rules,
  }: { readonly permissions: readonly string[] | null; readonly rules: readonly JsonObject[] | null },
): Buffer | null {
  if (!requiresSeals(keys)) return null;
  const written: JsonObject = { permissions: [...(permissions ?? [])], rules: [...(rules ?? [])] };
  return seal(keys.data, sessionPlace(tenantId, session), Buffer.from(JSON.stringify(written)));
}

/**
 * The sealed rights of a session.
 * @returns undefined if they are in the clear.
 * @throws {SealBroken} if no server wrote the session.
 */
export function openSessionRights(
  keys: TenantKeys,
  tenantId: TenantId,
  { rights, ...session }: SessionColumns,
): AccessRights | undefined {
  if (rights === null) {
    requireUnsealed(keys, "the rights of a session have no seal");
    return undefined;
  }
  const stored = objectIn(open(keys.data, sessionPlace(tenantId, session), rights));
  return session.authorized_by === null ? { permissions: [], rules: [] } : storedRights("session", stored);
}

const NOTHING = Buffer.alloc(0);

function requireUnsealed(keys: TenantKeys, missing: string): void {
  if (requiresSeals(keys)) throw new SealMissing(missing);
}

function storedRights(holder: ApplicationType | "session", { permissions, rules }: JsonObject): AccessRights {
  if (!Array.isArray(permissions) || !Array.isArray(rules)) throw new Error("rights of an unknown form are stored");
  return parseRights(holder, permissions.map(String), rules.map(readRule));
}

function objectIn(plaintext: Buffer): JsonObject {
  const stored: Json = JSON.parse(plaintext.toString());
  if (!isJsonObject(stored)) throw new Error("sealed rights are not an object");
  return stored;
}

function applicationPlace(tenantId: TenantId, row: { readonly id: Uuid; readonly type: string }): SealContext {
  return { tenantId, entity: row.id, field: "application", bound: encodeAad(row, AAD_COLUMNS.applications) };
}

function keyPlace(tenantId: TenantId, row: KeyColumns): SealContext {
  return { tenantId, entity: row.id, field: "application_key", bound: encodeAad(row, AAD_COLUMNS.application_keys) };
}

function sessionPlace(tenantId: TenantId, row: Omit<SessionColumns, "rights">): SealContext {
  return { tenantId, entity: row.id, field: "session", bound: encodeAad(row, AAD_COLUMNS.sessions) };
}
