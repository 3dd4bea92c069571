import type { Actor } from "../audit/actor.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { type Page, type PageRequest, requirePageSize } from "../base/page.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import {
  type ApplicationKeyRow,
  deleteApplicationKey,
  insertApplicationKey,
  listApplicationKeyRows,
  listApplicationKeysOf,
  readApplicationKey,
} from "../store/access/application-keys.js";
import {
  deleteApplicationRow,
  insertApplication,
  listApplicationRows,
  lockApplication,
  readApplication,
  updateApplicationRow,
} from "../store/access/applications.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { parseRights, requireRulesSize } from "./access-rule.js";
import { parseAllowedOrigins } from "./allowed-origins.js";
import {
  type Application,
  type ApplicationDraft,
  type ApplicationKey,
  applicationKeyOf,
  KEY_KIND_OF,
  openApplication,
  type WithKey,
} from "./application.js";
import { actorOf, type Caller } from "./caller.js";
import { newKey } from "./key-text.js";
import type { ApplicationType } from "./permissions.js";
import { requireGrantable, requireOwn } from "./role-rights.js";
import { keyIssuanceSeal, type NamedRights, rightsColumns } from "./sealed-rights.js";

/** Makes an application and, if requested, its first key. */
export function prepareApplication(
  keys: TenantKeys,
  actor: Actor | undefined,
  type: ApplicationType,
  draft: ApplicationDraft,
  withKey: boolean,
) {
  const rights = namedRights(type, draft);
  return async (tx: Transaction): Promise<WithKey<Application>> => {
    const id = newUuid();
    const createdBy = actor?.id ?? null;
    const columns = rightsColumns(keys, tx.tenantId, { id, type }, rights);
    tx.enqueue(insertApplication, { id, ...columns, created_by: createdBy });
    writeLog(tx, logEntry(actor, "application", id, "create"));
    const first = withKey ? addKey(tx, keys, actor, { id, type }) : undefined;
    const made: Application = {
      id,
      type,
      ...rights,
      keys: first ? [first.made] : [],
      createdBy,
      createdAt: tx.now,
      modifiedBy: null,
      modifiedAt: null,
    };
    return { made, key: first?.key };
  };
}

/** An application with its keys, without their values. */
export async function getApplication(tx: Transaction, keys: TenantKeys, actor: Actor, id: Uuid): Promise<Application> {
  const found = await find(tx, keys, id);
  if (!found) throw notFound("application");
  writeLog(tx, logEntry(actor, "application", id, "read"));
  return found;
}

/** A page, newest first. Ids and types restrict it if not empty. */
export async function listApplications(
  tx: Transaction,
  keys: TenantKeys,
  actor: Actor,
  listing: PageRequest & { readonly ids: readonly Uuid[]; readonly types: readonly string[] },
): Promise<Page<Application>> {
  const { items, total, bytes } = await tx.query(listApplicationRows, listing);
  requirePageSize("applications", bytes);
  const keyRows = await Promise.all(items.map(({ id }) => tx.query(listApplicationKeysOf, id)));
  writeLog(tx, logEntry(actor, "application", ANY_ENTITY_ID, "list"));
  return { items: items.map((row, index) => openApplication(keys, tx.tenantId, row, keyRows[index] ?? [])), total };
}

/** Replaces name, permissions and rules, and the allowed origins if the draft has them. The type cannot change. */
export async function updateApplication(
  tx: Transaction,
  keys: TenantKeys,
  caller: Caller,
  id: Uuid,
  draft: ApplicationDraft,
): Promise<Application> {
  const found = await find(tx, keys, id);
  if (!found) throw notFound("application");
  requireOwn(caller, found.createdBy);
  const rights = namedRights(found.type, { allowedOrigins: found.allowedOrigins, ...draft });
  requireGrantable(caller, found.type, rights);
  const actor = actorOf(caller);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  tx.enqueue(updateApplicationRow, { id, ...rightsColumns(keys, tx.tenantId, found, rights), modified_by: actor.id });
  writeLog(tx, logEntry(actor, "application", id, "update"));
  return { ...found, ...rights, modifiedBy: actor.id, modifiedAt: tx.now };
}

/** Deletes an application and its keys, which stop working everywhere at once. */
export async function deleteApplication(tx: Transaction, caller: Caller, id: Uuid): Promise<void> {
  const row = await tx.query(readApplication, id);
  if (!row) throw notFound("application");
  requireOwn(caller, row.created_by);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  if (!(await tx.query(deleteApplicationRow, id))) throw notFound("application");
  writeLog(tx, logEntry(actorOf(caller), "application", id, "delete"));
}

/** Every response with an application lists its keys. */
const MAX_KEYS = 100;

/**
 * Makes another key for an application. Its value is known only here.
 * @throws {Fault} unprocessable if the application has 100 keys.
 */
export async function createKey(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  caller: Caller,
  applicationId: Uuid,
): Promise<WithKey<ApplicationKey>> {
  const row = await lockApplication(tx, applicationId);
  if (!row) throw notFound("application");
  // Counted after the lock: concurrent requests wait for it.
  const found = openApplication(keys, tx.tenantId, row, await tx.query(listApplicationKeysOf, applicationId));
  requireOwn(caller, found.createdBy);
  requireGrantable(caller, found.type, found);
  if (found.keys.length >= MAX_KEYS) {
    const text = `The application has ${found.keys.length} keys, and may have at most ${MAX_KEYS}. Delete one that is not used.`;
    throw new Fault("unprocessable", text);
  }
  return addKey(tx, keys, actorOf(caller), found);
}

/**
 * Replaces the only key of an application by a new one. Of two concurrent requests one is refused, because the key that
 * it would replace is gone.
 */
export async function regenerateKey(
  tx: Transaction,
  keys: TenantKeys,
  caller: Caller,
  id: Uuid,
): Promise<WithKey<Application>> {
  const found = await find(tx, keys, id);
  if (!found) throw notFound("application");
  requireOwn(caller, found.createdBy);
  requireGrantable(caller, found.type, found);
  const [only, ...others] = found.keys;
  if (!only || others.length > 0) {
    const text = `The application has ${found.keys.length} keys; this works with exactly one. Create and delete keys instead.`;
    throw new Fault("unprocessable", text);
  }
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  if (!(await tx.query(deleteApplicationKey, { applicationId: id, id: only.id }))) {
    throw new Fault("conflict", "Another request has replaced or deleted the key meanwhile.");
  }
  const actor = actorOf(caller);
  writeLog(tx, logEntry(actor, "application_key", only.id, "delete"));
  const { made, key } = addKey(tx, keys, actor, found);
  return { made: { ...found, keys: [made] }, key };
}

/** Gets a key by its id, within the given application. */
export async function getKey(
  tx: Transaction,
  actor: Actor,
  place: { readonly applicationId: Uuid; readonly id: Uuid },
): Promise<ApplicationKey> {
  const row: ApplicationKeyRow | null = await tx.query(readApplicationKey, place);
  if (!row) throw notFound("application key");
  writeLog(tx, logEntry(actor, "application_key", place.id, "read"));
  return applicationKeyOf(row);
}

/** A page, newest first. An application without keys has an empty page; a missing application is an error. */
export async function listApplicationKeys(
  tx: Transaction,
  actor: Actor,
  listing: PageRequest & { readonly applicationId: Uuid },
): Promise<Page<ApplicationKey>> {
  const [application, page] = await Promise.all([
    tx.query(readApplication, listing.applicationId),
    tx.query(listApplicationKeyRows, listing),
  ]);
  if (!application) throw notFound("application");
  writeLog(tx, logEntry(actor, "application_key", ANY_ENTITY_ID, "list"));
  return { items: page.items.map(applicationKeyOf), total: page.total };
}

/** Deletes a key, which stops working everywhere at once. */
export async function deleteKey(
  tx: Transaction,
  caller: Caller,
  place: { readonly applicationId: Uuid; readonly id: Uuid },
): Promise<void> {
  const row = await tx.query(readApplicationKey, place);
  if (!row) throw notFound("application key");
  requireOwn(caller, row.created_by);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  if (!(await tx.query(deleteApplicationKey, place))) throw notFound("application key");
  writeLog(tx, logEntry(actorOf(caller), "application_key", place.id, "delete"));
}

/** @throws {Fault} validation_failed for rights or origins that the type cannot have. */
function namedRights(type: ApplicationType, draft: ApplicationDraft): NamedRights {
  const allowedOrigins = parseAllowedOrigins(type, draft.allowedOrigins ?? []);
  const rights = parseRights(type, draft.permissions, draft.rules);
  requireRulesSize(rights.rules);
  return { name: draft.name, ...rights, allowedOrigins };
}

async function find(tx: Transaction, keys: TenantKeys, id: Uuid): Promise<Application | undefined> {
  const [row, keyRows] = await Promise.all([tx.query(readApplication, id), tx.query(listApplicationKeysOf, id)]);
  return row ? openApplication(keys, tx.tenantId, row, keyRows) : undefined;
}

/** A new key needs no new revision: no caller can have been granted or denied anything by it before. */
function addKey(
  tx: Transaction,
  keys: TenantKeys,
  actor: Actor | undefined,
  application: Pick<Application, "id" | "type">,
): WithKey<ApplicationKey> {
  const id = newUuid();
  const { text, hash } = newKey(KEY_KIND_OF[application.type], tx.tenantId);
  const createdBy = actor?.id ?? null;
  const columns = { id, application_id: application.id, key_hash: hash };
  const proof = keyIssuanceSeal(keys, tx.tenantId, columns);
  tx.enqueue(insertApplicationKey, { ...columns, proof, created_by: createdBy });
  writeLog(tx, logEntry(actor, "application_key", id, "create"));
  return { made: { id, createdBy, createdAt: tx.now }, key: text };
}
