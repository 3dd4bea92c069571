import type { Caller } from "../access/caller.js";
import { actorOf } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { type ContainerPath, covers, parseContainer } from "../access/container.js";
import { deniedWith } from "../access/refusal.js";
import { StoredEntities } from "../access/stored-entities.js";
import { changesBetween } from "../audit/log-changes.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { DAY_MS } from "../base/clock.js";
import { Fault, invalid } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { readApplication } from "../store/access/applications.js";
import { readMember } from "../store/people/members.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import {
  approveTokenExportRow,
  deleteExpiredTokenExports,
  deleteTokenExportRow,
  insertTokenExport,
  listTokenExportRows,
  lockTokenExport,
  readTokenExport,
  type TokenExportRow,
} from "../store/tokens/token-exports.js";
import { tokenType } from "./types/registry.js";

/** How long a request waits, and how long an approval counts. */
const VALID_MS = 60 * 60_000;
/** Otherwise an OWNER could invite another address of their own and approve with it, before anybody sees the member. */
const SETTLED_MS = DAY_MS;
/** Of one tenant, at a time. */
const MAX_OPEN = 20;

/** Which tokens an export reads. Absent parts: all. */
export interface ExportScope {
  readonly container: ContainerPath | undefined;
  readonly type: string | undefined;
}

export interface TokenExport extends ExportScope {
  readonly id: Uuid;
  readonly applicationId: Uuid;
  readonly reason: string;
  readonly requestedBy: Uuid;
  readonly requestedAt: Date;
  readonly approvedBy: Uuid | undefined;
  readonly expiresAt: Date;
}

export const tokenExports = new StoredEntities<TokenExportRow, TokenExport>({
  type: "token_export",
  read: readTokenExport,
  remove: deleteTokenExportRow,
  open: ({ keys }, row) => opened(keys, row),
});

export const exportRecord = sealedRecord({
  field: "token_export",
  bound: AAD_COLUMNS.token_exports,
  write: ({ container, type, reason }: ExportScope & { readonly reason: string }) => ({
    reason,
    ...(container === undefined ? {} : { container }),
    ...(type === undefined ? {} : { type }),
  }),
  read: ({ container, type, reason }) => ({
    container: typeof container === "string" ? parseContainer(container, "container") : undefined,
    type: typeof type === "string" ? type : undefined,
    reason: String(reason),
  }),
});

function opened(keys: TenantKeys, row: TokenExportRow): TokenExport {
  const { id, application_id, created_by, approved_by, expires_at, created_at } = row;
  return {
    ...exportRecord.open(keys, row, row.definition),
    id,
    applicationId: application_id,
    requestedBy: created_by,
    requestedAt: created_at,
    approvedBy: approved_by ?? undefined,
    expiresAt: expires_at,
  };
}

/** What an OWNER asks for. */
export interface ExportRequest {
  readonly applicationId: Uuid;
  readonly container: string | undefined;
  readonly type: string | undefined;
  readonly reason: string;
}

/** @throws {Fault} validation_failed; unprocessable if twenty others are open. */
export async function requestExport(tx: OrdinaryCallerTransaction, asked: ExportRequest): Promise<TokenExport> {
  const { applicationId, reason } = asked;
  const container = asked.container === undefined ? undefined : parseContainer(asked.container, "container");
  const type = asked.type === undefined ? undefined : tokenType(asked.type).name;
  if (!(await tx.query(readApplication, applicationId))) throw invalid("application_id", "must be an application");
  tx.enqueue(deleteExpiredTokenExports, "expired");
  if ((await tx.query(listTokenExportRows, "all")).length >= MAX_OPEN) {
    throw new Fault("unprocessable", `At most ${MAX_OPEN} exports may be open. Delete one that is not needed.`);
  }
  const columns = {
    id: newUuid(),
    application_id: applicationId,
    created_by: actorOf(tx.caller).id,
    approved_by: null,
    expires_at: new Date(tx.now.getTime() + VALID_MS),
  };
  const definition = exportRecord.seal(tx.keys, columns, { container, type, reason });
  tx.enqueue(insertTokenExport, { ...columns, definition });
  const changes = changesBetween(undefined, { applicationId, container, type });
  tx.log("token_export", columns.id, "create", { changes });
  return opened(tx.keys, { ...columns, definition, created_at: tx.now });
}

/** Requests and approvals that count, newest first. */
export async function listExports(tx: CallerTransaction): Promise<readonly TokenExport[]> {
  const rows = await tx.query(listTokenExportRows, "all");
  tx.log("token_export", ANY_ENTITY_ID, "list");
  return rows.filter((row) => row.expires_at > tx.now).map((row) => opened(tx.keys, row));
}

/**
 * Approves the request of somebody else.
 * @throws {Fault} permission_denied for one's own request, and for a new OWNER; conflict if it is approved.
 */
export async function approveExport(tx: OrdinaryCallerTransaction, id: Uuid): Promise<TokenExport> {
  const row = tokenExports.present(await lockTokenExport(tx, id));
  tokenExports.present(row.expires_at > tx.now || null);
  const { principal } = tx.caller;
  if (principal.kind !== "person" || row.created_by === principal.userId) {
    throw new Fault("permission_denied", "Another OWNER than the one who asked must approve.");
  }
  if (row.approved_by !== null) throw new Fault("conflict", "The export is approved already.");
  const member = await tx.query(readMember, principal.memberId);
  const since = member?.modified_at ?? member?.created_at ?? tx.now;
  if (tx.now.getTime() - since.getTime() < SETTLED_MS) {
    throw new Fault(
      "permission_denied",
      "An OWNER may approve exports 24 hours after the last change of the membership.",
    );
  }
  const approved = {
    ...row,
    approved_by: principal.userId,
    expires_at: new Date(tx.now.getTime() + VALID_MS),
  };
  const content = exportRecord.open(tx.keys, row, row.definition);
  const definition = exportRecord.seal(tx.keys, approved, content);
  tx.enqueue(approveTokenExportRow, { ...approved, definition });
  const { container, type } = content;
  const changes = changesBetween(undefined, { applicationId: row.application_id, container, type });
  tx.log("token_export", id, "approve", { changes });
  return opened(tx.keys, { ...approved, definition });
}

/** Whether one export reads no more than another. */
function isWithin(asked: ExportScope, approved: ExportScope): boolean {
  const isContained =
    approved.container === undefined || (asked.container !== undefined && covers(approved.container, asked.container));
  return isContained && (approved.type === undefined || approved.type === asked.type);
}

/**
 * Denies an export of data that two people have not agreed to, where the tenant asks for that.
 * @throws {Denied}.
 */
export async function requireApproval(tx: CallerTransaction, asked: ExportScope): Promise<void> {
  const { caller } = tx;
  if (!caller.settings.require_export_approval) return;
  const application = actorOf(caller).id;
  const rows = await tx.query(listTokenExportRows, "all");
  const isApproved = rows
    .filter((row) => row.approved_by !== null && row.application_id === application && row.expires_at > tx.now)
    .some((row) => isWithin(asked, opened(tx.keys, row)));
  if (!isApproved) throw approvalNeeded(caller);
}

function approvalNeeded(caller: Caller) {
  const text =
    "Two OWNERs must agree to this export: one runs cloakroom exports request, another one approves, and it then works for an hour.";
  return deniedWith(caller, new Fault("permission_denied", text), "no approval", {
    type: "token_export",
    id: ANY_ENTITY_ID,
  });
}
