import { type Caller, loggedActor } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { covers, storedContainer } from "../access/container.js";
import { deniedWith } from "../access/refusal.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { Fault } from "../base/fault.js";
import { listTokenExportRows } from "../store/tokens/token-exports.js";
import { isStillAsAsked } from "./export-approval.js";
import type { MayShow } from "./selection.js";
import { type ExportScope, openExport, type TokenExport } from "./token-export.js";

/**
 * Denies an export of data that two people have not agreed to, where the tenant asks for that.
 * @returns which tokens they have agreed to.
 * @throws {Denied}.
 */
export async function requireApproval(tx: CallerTransaction, asked: ExportScope): Promise<MayShow> {
  if (!tx.caller.settings.require_export_approval) return () => true;
  const approvals = await approvalsOf(tx, asked);
  if (approvals.length === 0) throw approvalNeeded(tx.caller);
  return (row) => approvals.some((approved) => isAgreed(approved, row));
}

/**
 * The approvals that count for a caller. A session, and code that acts as the application, use none of the keys that
 * people have agreed to.
 */
async function approvalsOf(tx: CallerTransaction, asked: ExportScope): Promise<readonly TokenExport[]> {
  const { keyId } = tx.caller;
  const application = loggedActor(tx.caller).id;
  if (keyId === undefined) return [];
  const rows = await tx.query(listTokenExportRows, "all");
  const opened = rows
    .filter((row) => row.approved_by !== null && row.application_id === application && row.expires_at > tx.now)
    .map((row) => openExport(tx.keys, row))
    .filter((approved) => isWithin(asked, approved) && approved.keyIds.includes(keyId));
  const counts = await Promise.all(opened.map((approved) => isStillAsAsked(tx, approved)));
  return opened.filter((_, index) => counts[index]);
}

/** Whether one export reads no more than another. */
function isWithin(asked: ExportScope, approved: ExportScope): boolean {
  const isContained =
    approved.container === undefined || (asked.container !== undefined && covers(approved.container, asked.container));
  return isContained && (approved.type === undefined || approved.type === asked.type);
}

/** A change or a move of a token after the request could add to what two people agree to. */
function isAgreed({ container, type, requestedAt }: TokenExport, row: Parameters<MayShow>[0]): boolean {
  const isUnchanged = row.created_at < requestedAt && (row.modified_at === null || row.modified_at < requestedAt);
  const isInside = container === undefined || row.containers.some((one) => covers(container, storedContainer(one)));
  return isUnchanged && isInside && (type === undefined || type === row.type);
}

function approvalNeeded(caller: Caller) {
  const text =
    "Two people must agree to this export: an OWNER or ADMIN runs cloakroom exports request, another one approves. It then works " +
    "for an hour, with the rights and keys that the application had at the request.";
  return deniedWith(caller, new Fault("permission_denied", text), "no approval", {
    type: "token_export",
    id: ANY_ENTITY_ID,
  });
}
