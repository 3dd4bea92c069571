import { changesBetween } from "../audit/log-changes.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import { notFound } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { type Page, type PageRequest, requirePageSize } from "../base/page.js";
import { sealName } from "../crypto/sealed-name.js";
import { listKeysOfApplication } from "../store/access/application-keys.js";
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
import { type Application, type ApplicationDraft, openApplication, type WithKey } from "./application.js";
import { addKey } from "./application-keys.js";
import { changedAuthorship, newAuthorship } from "./authorship.js";
import type { Caller } from "./caller.js";
import type { CallerTransaction } from "./caller-transaction.js";
import { requireMayChangeCode } from "./changed-code.js";
import { findApplication } from "./find-application.js";
import { requireMayEndKey, requireMayTakeRights } from "./key-control.js";
import { endWithin } from "./key-end.js";
import { listByName } from "./name-search.js";
import { NO_PAGES, needsFrame, type Pages, parsePages, writeTemplate } from "./pages.js";
import type { ApplicationType } from "./permissions.js";
import { nextRevision } from "./revision.js";
import { requireGrantable } from "./role-rights.js";
import { type NamedRights, rightsColumns } from "./sealed-rights.js";

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
    const first = withKey ? addKey(tx, application, { expiresAt }) : undefined;
    return { made: { ...application, keys: first ? [first.made] : [] }, key: first?.key };
  };
}

/** An application with its keys, without their values. */
export async function getApplication(tx: CallerTransaction, id: Uuid): Promise<Application> {
  const found = await findApplication(tx, id);
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
  const found = await findApplication(tx, id);
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
  const found = await findApplication(tx, id);
  requireMayTakeRights(tx.caller, found);
  for (const { createdBy } of found.keys) requireMayEndKey(tx.caller, () => found, createdBy);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  if (!(await tx.query(deleteApplicationRow, id))) throw notFound("application");
  tx.log("application", id, "delete");
}

const NAMED = { names: listApplicationNames, read: readApplication };

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
