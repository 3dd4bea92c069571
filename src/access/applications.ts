import { changesBetween } from "../audit/log-changes.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { type Page, type PageRequest, requirePageSize } from "../base/page.js";
import { sealName } from "../crypto/sealed-name.js";
import {
  type ApplicationKeyRow,
  deleteApplicationKey,
  insertApplicationKey,
  listApplicationKeyRows,
  listKeysOfApplication,
  readApplicationKey,
} from "../store/access/application-keys.js";
import {
  deleteApplicationRow,
  holdActingApplication,
  insertApplication,
  listApplicationNames,
  listApplicationRows,
  lockApplication,
  readApplication,
  updateApplicationRow,
} from "../store/access/applications.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import { parseRights, requireRulesSize, writeRule } from "./access-rule.js";
import {
  type Application,
  type ApplicationDraft,
  type ApplicationKey,
  KEY_KIND_OF,
  openApplication,
  toApplicationKey,
  type WithKey,
} from "./application.js";
import { changedAuthorship, newAuthorship } from "./authorship.js";
import type { Caller } from "./caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "./caller-transaction.js";
import { requireMayChangeCode } from "./changed-code.js";
import { requireMayEndKey, requireMayMakeKey, requireMayTakeRights } from "./key-control.js";
import { endWithin, usualEnd } from "./key-end.js";
import { newKey } from "./key-text.js";
import { listByName } from "./name-search.js";
import { NO_PAGES, needsFrame, type Pages, parsePages, writeTemplate } from "./pages.js";
import type { ApplicationType } from "./permissions.js";
import { nextRevision } from "./revision.js";
import { requireGrantable } from "./role-rights.js";
import { keyDetailsRecord, keyIssuanceProof, type NamedRights, rightsColumns } from "./sealed-rights.js";

/** Makes an application and, if requested, its first key. */
export function prepareApplication(type: ApplicationType, draft: ApplicationDraft, withKey: boolean) {
  const rights = namedRights(type, draft);
  return async (tx: TenantTransaction, caller?: Caller): Promise<WithKey<Application>> => {
    const application = { id: newUuid(), type, ...rights, revision: 0, ...newAuthorship(tx) };
    const columns = { id: application.id, type, created_by: application.createdBy };
    const name = sealName(tx.keys, application.id, application.name);
    tx.enqueue(insertApplication, { ...columns, name, ...rightsColumns(tx.keys, columns, application) });
    const changes = changesBetween(undefined, { type, ...loggedRights(rights) });
    tx.log("application", application.id, "create", { changes });
    const expiresAt = caller && endWithin(caller, undefined);
    const first = withKey ? addKey(tx, application, { ...UNNAMED, expiresAt }) : undefined;
    return { made: { ...application, keys: first ? [first.made] : [] }, key: first?.key };
  };
}

/** An application with its keys, without their values. */
export async function getApplication(tx: CallerTransaction, id: Uuid): Promise<Application> {
  const found = await find(tx, id);
  tx.log("application", id, "read");
  return found;
}

export interface ApplicationSearch extends PageRequest {
  /** Restrict it if not empty. */
  readonly ids: readonly Uuid[];
  readonly types: readonly string[];
  /** A part of the name, or a pattern with `*`. */
  readonly name: string | undefined;
  readonly isByName: boolean;
}

/** A page, newest first or by name. */
export async function listApplications(tx: CallerTransaction, search: ApplicationSearch): Promise<Page<Application>> {
  const { name, isByName, ...listing } = search;
  const { items, total, bytes } =
    name === undefined && !isByName
      ? await tx.query(listApplicationRows, listing)
      : await listByName(tx, NAMED, { ...listing, name: name ?? "", isByName });
  requirePageSize("applications", bytes);
  const keyRows = await Promise.all(items.map(({ id }) => tx.query(listKeysOfApplication, id)));
  tx.log("application", ANY_ENTITY_ID, "list");
  return { items: items.map((row, index) => openApplication(tx.keys, row, keyRows[index] ?? [])), total };
}

/** Replaces name, permissions and rules, and what the draft says of pages. The type cannot change. */
export async function updateApplication(
  tx: CallerTransaction,
  id: Uuid,
  draft: ApplicationDraft,
): Promise<Application> {
  const found = await find(tx, id);
  requireMayTakeRights(tx.caller, found);
  const rights = namedRights(found.type, { ...pagesOf(found), ...draft });
  requireGrantable(tx.caller, found.type, rights);
  if (letsPagesDoMore(found, rights)) requireMayChangeCode(tx.caller, "templates and page requests", found.createdBy);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  const next = { ...found, ...rights, revision: nextRevision(found.revision, tx.now), ...changedAuthorship(tx) };
  const columns = rightsColumns(tx.keys, { id, type: found.type, created_by: found.createdBy }, next);
  const name = sealName(tx.keys, id, next.name);
  tx.enqueue(updateApplicationRow, { id, name, ...columns, modified_by: next.modifiedBy });
  tx.log("application", id, "update", { changes: changesBetween(loggedRights(found), loggedRights(next)) });
  return next;
}

/** An application with its rights, unchanged until the transaction ends. @throws {Fault} not_found. */
export async function holdApplication(tx: OrdinaryTenantTransaction, id: Uuid): Promise<Application> {
  const row = await lockApplication(tx, id);
  if (!row) throw notFound("application");
  return openApplication(tx.keys, row, []);
}

/** The same for code that acts as it, of which several changes may hold it. @throws {Fault} not_found. */
export async function holdForCode(tx: OrdinaryTenantTransaction, id: Uuid): Promise<Application> {
  const row = await holdActingApplication(tx, id);
  if (!row) throw notFound("application");
  return openApplication(tx.keys, row, []);
}

/** Deletes an application and its keys, which stop working everywhere at once. */
export async function deleteApplication(tx: CallerTransaction, id: Uuid): Promise<void> {
  const found = await find(tx, id);
  requireMayTakeRights(tx.caller, found);
  for (const { createdBy } of found.keys) requireMayEndKey(tx.caller, () => found, createdBy);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  if (!(await tx.query(deleteApplicationRow, id))) throw notFound("application");
  tx.log("application", id, "delete");
}

const NAMED = { names: listApplicationNames, read: readApplication };

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
  const found = await find(tx, id);
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

/** What the log shows of an application: all but its names, which are free text and nowhere in the clear at rest. */
function loggedRights(rights: Omit<NamedRights, "name"> & { readonly revision?: number }) {
  const { permissions, rules, allowedOrigins, templates, allowPageRequests, revision } = rights;
  return {
    permissions,
    rules: rules.map((rule) => writeRule({ ...rule, description: undefined })),
    allowedOrigins,
    templates: templates.map(writeTemplate),
    allowPageRequests,
    ...(revision === undefined ? {} : { revision }),
  };
}

/**
 * Expressions of a template act on what customers type, and its mask can show all of it to readers of masks. A key that
 * works in frames only works everywhere once page requests are allowed, and as well once no origin is left.
 */
function letsPagesDoMore(before: Pages, after: Pages): boolean {
  const isSame = JSON.stringify(before.templates) === JSON.stringify(after.templates);
  const isReleased = needsFrame(before) && !needsFrame(after);
  return !isSame || isReleased || (after.allowPageRequests && !before.allowPageRequests);
}

function pagesOf({ allowedOrigins, templates, allowPageRequests }: Pages): Pages {
  return { allowedOrigins, templates, allowPageRequests };
}

/** @throws {Fault} validation_failed for rights, or properties of pages, that the type cannot have. */
function namedRights(type: ApplicationType, draft: ApplicationDraft): NamedRights {
  const pages = parsePages(type, pagesOf({ ...NO_PAGES, ...draft }));
  const rights = parseRights(type, draft.permissions, draft.rules);
  requireRulesSize(rights.rules);
  return { name: draft.name, ...rights, ...pages };
}

/** @throws {Fault} not_found. */
async function find(tx: TenantTransaction, id: Uuid): Promise<Application> {
  const [row, keyRows] = await Promise.all([tx.query(readApplication, id), tx.query(listKeysOfApplication, id)]);
  if (!row) throw notFound("application");
  return openApplication(tx.keys, row, keyRows);
}

/** What people say of a new key. */
export type KeyDraft = Pick<ApplicationKey, "name" | "owner" | "expiresAt">;

const UNNAMED: KeyDraft = { name: undefined, owner: undefined, expiresAt: undefined };

/** A new key needs no new revision: no caller can have been granted or denied anything by it before. */
function addKey(
  tx: TenantTransaction,
  application: Pick<Application, "id" | "type">,
  { name, owner, expiresAt }: KeyDraft = UNNAMED,
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
