import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { type Page, type PageRequest, requirePageSize } from "../base/page.js";
import { readApplication } from "../store/access/applications.js";
import { deleteSessionRow, type ListedSessionRow, listSessionRows, readSession } from "../store/access/sessions.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import type { AccessRights, Transform } from "./access-rule.js";
import { openApplication } from "./application.js";
import type { CallerTransaction } from "./caller-transaction.js";
import { Grant } from "./grant.js";
import { requireOwn } from "./role-rights.js";
import { openSessionRights } from "./sealed-rights.js";

/** A session that has not ended, without its key and nonce. */
export interface OpenSession extends AccessRights {
  readonly id: Uuid;
  /** The public application that made it. */
  readonly applicationId: Uuid;
  /** The private application that gave it rights. */
  readonly authorizedBy: Uuid | undefined;
  /** Whether a hosted field made it, in which alone its key works. */
  readonly isInFrame: boolean;
  /** The most that it can show of any token; undefined: it reads none. */
  readonly transform: Transform | undefined;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface SessionSearch extends PageRequest {
  /** If not empty, lists only those that these applications made. */
  readonly applicationIds: readonly Uuid[];
}

/** A page of the sessions that have not ended, newest first. */
export async function listSessions(tx: CallerTransaction, search: SessionSearch): Promise<Page<OpenSession>> {
  const { items, total, bytes } = await tx.query(listSessionRows, { ...search, at: tx.now });
  requirePageSize("sessions", bytes);
  const authorizers = await authorizersOf(tx, items);
  tx.log("session", ANY_ENTITY_ID, "list");
  return { items: items.map((row) => openSession(tx, row, authorizers)), total };
}

/** Ends a session: its key stops working everywhere at once. */
export async function deleteSession(tx: CallerTransaction, id: Uuid): Promise<void> {
  const row = await tx.query(readSession, id);
  if (!row || row.expires_at <= tx.now) throw notFound("session");
  const application = await tx.query(readApplication, row.application_id);
  if (!application) throw notFound("session");
  requireOwn(tx.caller, application.created_by);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  if (!(await tx.query(deleteSessionRow, id))) throw notFound("session");
  tx.log("session", id, "delete");
}

/** The present rights of the applications that authorized sessions, by their ids. */
async function authorizersOf(tx: CallerTransaction, rows: readonly ListedSessionRow[]): Promise<Map<Uuid, Grant>> {
  const ids = [...new Set(rows.flatMap(({ authorized_by: id }) => id ?? []))];
  const found = await Promise.all(ids.map((id) => tx.query(readApplication, id)));
  return new Map(found.flatMap((row) => (row ? [[row.id, new Grant(openApplication(tx.keys, row, []))]] : [])));
}

function openSession(
  { keys }: CallerTransaction,
  row: ListedSessionRow,
  authorizers: ReadonlyMap<Uuid, Grant>,
): OpenSession {
  const { permissions, rules, frame } = openSessionRights(keys, row);
  const within = row.authorized_by === null ? undefined : authorizers.get(row.authorized_by);
  return {
    id: row.id,
    applicationId: row.application_id,
    authorizedBy: row.authorized_by ?? undefined,
    isInFrame: frame !== undefined,
    permissions,
    rules,
    // Without its authorizer a session has no rights.
    transform: within && new Grant({ permissions, rules }, within).mostOpenTransform,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
