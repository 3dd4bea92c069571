import { type Application, openApplication } from "../access/application.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { parseContainer } from "../access/container.js";
import type { SettledMember } from "../access/settled-member.js";
import { changesBetween } from "../audit/log-changes.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { HOUR_MS } from "../base/clock.js";
import { Fault, invalid } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { listKeysOfApplication } from "../store/access/application-keys.js";
import { lockApplication, readApplication } from "../store/access/applications.js";
import {
  approveTokenExportRow,
  deleteExpiredTokenExports,
  insertTokenExport,
  listTokenExportRows,
  lockTokenExport,
  type TokenExportRow,
} from "../store/tokens/token-exports.js";
import { isStillInOffice } from "../tenancy/settled-members.js";
import { exportRecord, openExport, type TokenExport, tokenExports } from "./token-export.js";
import { tokenType } from "./types/registry.js";

/** How long a request waits, and how long an approval counts. */
const VALID_MS = HOUR_MS;
/** Of one tenant, at a time. */
const MAX_OPEN = 20;

export interface ExportRequest {
  readonly applicationId: Uuid;
  readonly container: string | undefined;
  readonly type: string | undefined;
  readonly reason: string;
}

/**
 * Asks for an export by an application, with the rights and keys that it has now.
 * @throws {Fault} validation_failed; unprocessable if twenty others are open.
 */
export async function requestExport(
  tx: OrdinaryCallerTransaction,
  { userId }: SettledMember,
  asked: ExportRequest,
): Promise<TokenExport> {
  const { applicationId, reason } = asked;
  const container = asked.container === undefined ? undefined : parseContainer(asked.container, "container");
  const type = asked.type === undefined ? undefined : tokenType(asked.type).name;
  const exporter = await exporterOf(tx, applicationId);
  tx.enqueue(deleteExpiredTokenExports, "expired");
  if ((await tx.query(listTokenExportRows, "all")).length >= MAX_OPEN) {
    throw new Fault("unprocessable", `At most ${MAX_OPEN} exports may be open. Delete one that is not needed.`);
  }
  const columns = {
    id: newUuid(),
    application_id: applicationId,
    created_by: userId,
    approved_by: null,
    expires_at: new Date(tx.now.getTime() + VALID_MS),
  };
  const content = { container, type, reason, requestedAt: tx.now, ...exporter };
  const definition = exportRecord.seal(tx.keys, columns, content);
  tx.enqueue(insertTokenExport, { ...columns, definition });
  logAbout(tx, "create", { ...columns, definition });
  return openExport(tx.keys, { ...columns, definition });
}

/** What the second person is shown of the application, and what must not have changed when it exports. */
async function exporterOf(tx: OrdinaryCallerTransaction, id: Uuid) {
  // A request that makes a key for it takes this lock too.
  const row = await lockApplication(tx, id);
  if (!row) throw invalid("application_id", "must be an application");
  const application = openApplication(tx.keys, row, []);
  const rules = exportRulesOf(application);
  if (rules.length === 0) throw invalid("application_id", "must be an application with the permission token:export");
  const keyIds = (await tx.query(listKeysOfApplication, id)).map((key) => key.id);
  if (keyIds.length === 0) throw invalid("application_id", "must be an application with a key");
  return { applicationName: application.name, revision: application.revision, rules, keyIds };
}

function exportRulesOf({ permissions, rules }: Pick<Application, "permissions" | "rules">) {
  const ruled = rules.flatMap(({ permissions: granted, scope, transform }) =>
    granted.includes("token:export") && scope.kind === "container" ? [{ container: scope.container, transform }] : [],
  );
  // The plain permission masks, after all rules.
  const plain = { container: parseContainer("/", "container"), transform: "mask" } as const;
  return permissions.includes("token:export") ? [...ruled, plain] : ruled;
}

export async function listExports(tx: CallerTransaction): Promise<readonly TokenExport[]> {
  const rows = await tx.query(listTokenExportRows, "all");
  tx.log("token_export", ANY_ENTITY_ID, "list");
  return rows.filter((row) => row.expires_at > tx.now).map((row) => openExport(tx.keys, row));
}

/**
 * Approves the request of somebody else.
 * @throws {Fault} permission_denied for one's own request; conflict if it is approved, or no longer what was asked for.
 */
export async function approveExport(
  tx: OrdinaryCallerTransaction,
  { userId }: SettledMember,
  id: Uuid,
): Promise<TokenExport> {
  const row = tokenExports.present(await lockTokenExport(tx, id));
  tokenExports.present(row.expires_at > tx.now || null);
  if (row.created_by === userId) {
    throw new Fault("permission_denied", "Another person than the one who asked must approve: an OWNER or ADMIN.");
  }
  if (row.approved_by !== null) throw new Fault("conflict", "The export is approved already.");
  if (!(await isStillAsAsked(tx, openExport(tx.keys, row)))) {
    const text =
      "The application, or the role or passkeys of the person who asked, were changed since. Ask for the export again.";
    throw new Fault("conflict", text);
  }
  const columns = { ...row, approved_by: userId, expires_at: new Date(tx.now.getTime() + VALID_MS) };
  const definition = exportRecord.seal(tx.keys, columns, exportRecord.open(tx.keys, row, row.definition));
  const approved = { ...columns, definition };
  tx.enqueue(approveTokenExportRow, approved);
  logAbout(tx, "approve", approved);
  return openExport(tx.keys, approved);
}

/** Whether the application has the rights that people were shown, and the word of these people still counts. */
export async function isStillAsAsked(
  tx: CallerTransaction,
  { applicationId, revision, requestedBy, requestedAt, approvedBy, expiresAt }: TokenExport,
): Promise<boolean> {
  const approvedAt = new Date(expiresAt.getTime() - VALID_MS);
  const [row, ...areInOffice] = await Promise.all([
    tx.query(readApplication, applicationId),
    isStillInOffice(tx, requestedBy, requestedAt),
    ...(approvedBy === undefined ? [] : [isStillInOffice(tx, approvedBy, approvedAt)]),
  ]);
  return row !== null && areInOffice.every(Boolean) && openApplication(tx.keys, row, []).revision === revision;
}

type LoggedRow = Pick<
  TokenExportRow,
  "id" | "application_id" | "created_by" | "approved_by" | "expires_at" | "definition"
>;

function logAbout(tx: CallerTransaction, operation: "create" | "approve", row: LoggedRow): void {
  const { applicationId, container, type, rules } = openExport(tx.keys, row);
  const shown = rules.map((rule) => `${rule.transform} ${rule.container}`);
  tx.log("token_export", row.id, operation, {
    changes: changesBetween(undefined, { applicationId, container, type, rules: shown }),
  });
}
