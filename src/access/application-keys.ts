import { changesBetween } from "../audit/log-changes.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import type { Page, PageRequest } from "../base/page.js";
import {
  type ApplicationKeyRow,
  deleteApplicationKey,
  insertApplicationKey,
  listApplicationKeyRows,
  listKeysOfApplication,
  readApplicationKey,
} from "../store/access/application-keys.js";
import { lockApplication, readApplication } from "../store/access/applications.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import {
  type Application,
  type ApplicationKey,
  KEY_KIND_OF,
  openApplication,
  toApplicationKey,
  type WithKey,
} from "./application.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "./caller-transaction.js";
import { findApplication } from "./find-application.js";
import { requireMayEndKey, requireMayMakeKey } from "./key-control.js";
import { endWithin, usualEnd } from "./key-end.js";
import { newKey } from "./key-text.js";
import { keyDetailsRecord, keyIssuanceProof } from "./sealed-rights.js";

/** Every response with an application lists its keys. */
const MAX_KEYS = 100;

/**
 * Makes another key for an application. Its value is known only here.
 * @throws {Fault} unprocessable if the application has 100 keys.
 */
export async function createKey(
  tx: OrdinaryCallerTransaction,
  applicationId: Uuid,
  draft: KeyDraft,
): Promise<WithKey<ApplicationKey>> {
  const row = await lockApplication(tx, applicationId);
  if (!row) throw notFound("application");
  // Counted after the lock: concurrent requests wait for it.
  const found = openApplication(tx.keys, row, await tx.query(listKeysOfApplication, applicationId));
  requireMayMakeKey(tx.caller, found);
  if (found.keys.length >= MAX_KEYS) {
    const text = `The application has ${found.keys.length} keys, and may have at most ${MAX_KEYS}. Delete one that is not used.`;
    throw new Fault("unprocessable", text);
  }
  return addKey(tx, found, { ...draft, expiresAt: endWithin(tx.caller, draft.expiresAt) });
}

/**
 * Replaces the only key of an application by a new one with its name, owner and end. Of two concurrent requests one is
 * refused, because the key that it would replace is gone.
 * @throws {Fault} unprocessable for several keys or none, and for a key that has ended.
 */
export async function regenerateKey(tx: CallerTransaction, id: Uuid): Promise<WithKey<Application>> {
  const found = await findApplication(tx, id);
  requireMayMakeKey(tx.caller, found);
  const [only, ...others] = found.keys;
  if (!only || others.length > 0) {
    const text = `The application has ${found.keys.length} keys; this works with exactly one. Create and delete keys instead.`;
    throw new Fault("unprocessable", text);
  }
  requireMayEndKey(tx.caller, () => found, only.createdBy);
  const { name, owner, expiresAt: end } = only;
  if (end && end <= tx.now) {
    throw new Fault("unprocessable", "The key has ended, and its replacement would too. Create another key instead.");
  }
  const expiresAt = end ? usualEnd(tx.caller, end) : endWithin(tx.caller, undefined);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  if (!(await tx.query(deleteApplicationKey, { applicationId: id, id: only.id }))) {
    throw new Fault("conflict", "Another request has replaced or deleted the key meanwhile.");
  }
  tx.log("application_key", only.id, "delete");
  const { made, key } = addKey(tx, found, { name, owner, expiresAt });
  return { made: { ...found, keys: [made] }, key };
}

interface NamedKey {
  readonly applicationId: Uuid;
  readonly id: Uuid;
}

export async function getKey(tx: CallerTransaction, named: NamedKey): Promise<ApplicationKey> {
  const row: ApplicationKeyRow | null = await tx.query(readApplicationKey, named);
  if (!row) throw notFound("application key");
  tx.log("application_key", named.id, "read");
  return toApplicationKey(tx.keys, row);
}

/** A page, newest first. An application without keys has an empty page; a missing application is an error. */
export async function listApplicationKeys(
  tx: CallerTransaction,
  listing: PageRequest & { readonly applicationId: Uuid },
): Promise<Page<ApplicationKey>> {
  const [application, page] = await Promise.all([
    tx.query(readApplication, listing.applicationId),
    tx.query(listApplicationKeyRows, listing),
  ]);
  if (!application) throw notFound("application");
  tx.log("application_key", ANY_ENTITY_ID, "list");
  return { items: page.items.map((row) => toApplicationKey(tx.keys, row)), total: page.total };
}

/** Deletes a key, which stops working everywhere at once. */
export async function deleteKey(tx: CallerTransaction, named: NamedKey): Promise<void> {
  const [application, row] = await Promise.all([
    tx.query(readApplication, named.applicationId),
    tx.query(readApplicationKey, named),
  ]);
  if (!application || !row) throw notFound("application key");
  keyIssuanceProof.require(tx.keys, row);
  requireMayEndKey(tx.caller, () => openApplication(tx.keys, application, []), row.created_by);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  if (!(await tx.query(deleteApplicationKey, named))) throw notFound("application key");
  tx.log("application_key", named.id, "delete");
}

/** What people say of a new key. */
export type KeyDraft = Pick<ApplicationKey, "name" | "owner" | "expiresAt">;

/** A new key needs no new revision: no caller can have been granted or denied anything by it before. */
export function addKey(
  tx: TenantTransaction,
  application: Pick<Application, "id" | "type">,
  { name, owner, expiresAt }: Partial<KeyDraft>,
): WithKey<ApplicationKey> {
  const id = newUuid();
  const { text, hash } = newKey(KEY_KIND_OF[application.type], tx.tenantId, tx.keys);
  const createdBy = tx.author?.id ?? null;
  const columns = {
    id,
    application_id: application.id,
    key_hash: hash,
    created_by: createdBy,
    expires_at: expiresAt ?? null,
  };
  const proof = keyIssuanceProof.seal(tx.keys, columns);
  const hasDetails = name !== undefined || owner !== undefined;
  const details = hasDetails ? keyDetailsRecord.seal(tx.keys, columns, { name, owner }) : null;
  tx.enqueue(insertApplicationKey, { ...columns, proof, details });
  const changes = expiresAt ? changesBetween(undefined, { expiresAt: expiresAt.toISOString() }) : [];
  tx.log("application_key", id, "create", { changes });
  return { made: { id, name, owner, createdBy, createdAt: tx.now, expiresAt, lastUsedAt: undefined }, key: text };
}
