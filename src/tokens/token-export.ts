import { isTransform, type Transform } from "../access/access-rule.js";
import { type ContainerPath, storedContainer } from "../access/container.js";
import { StoredEntities } from "../access/stored-entities.js";
import { isUuid, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { SealBroken } from "../crypto/sealed.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import { deleteTokenExportRow, readTokenExport, type TokenExportRow } from "../store/tokens/token-exports.js";

/** Which tokens an export reads. Absent parts: all. */
export interface ExportScope {
  readonly container: ContainerPath | undefined;
  readonly type: string | undefined;
}

/** How an application shows the exported tokens of a container. */
export interface ExportRule {
  readonly container: ContainerPath;
  readonly transform: Transform;
}

interface ExportContent extends ExportScope {
  readonly reason: string;
  /** Tokens that are made or changed from then on show no data. */
  readonly requestedAt: Date;
  readonly applicationName: string;
  /** Of the application's rights. */
  readonly revision: number;
  /** The first that covers a token decides. */
  readonly rules: readonly ExportRule[];
  /** The only keys that may export. */
  readonly keyIds: readonly Uuid[];
}

/** A request of one member to let an application export tokens, and the approval of another. */
export interface TokenExport extends ExportContent {
  readonly id: Uuid;
  readonly applicationId: Uuid;
  readonly requestedBy: Uuid;
  readonly approvedBy: Uuid | undefined;
  readonly expiresAt: Date;
}

export const tokenExports = new StoredEntities<TokenExportRow, TokenExport>({
  type: "token_export",
  read: readTokenExport,
  remove: deleteTokenExportRow,
  open: ({ keys }, row) => openExport(keys, row),
});

export const exportRecord = sealedRecord({
  field: "token_export",
  bound: AAD_COLUMNS.token_exports,
  write: ({ container, type, reason, requestedAt, applicationName, revision, rules, keyIds }: ExportContent) => ({
    reason,
    ...(container === undefined ? {} : { container }),
    ...(type === undefined ? {} : { type }),
    requestedAt: requestedAt.getTime(),
    applicationName,
    revision,
    rules,
    keyIds,
  }),
  read: ({ container, type, reason, requestedAt, applicationName, revision, rules, keyIds }): ExportContent => ({
    container: typeof container === "string" ? storedContainer(container) : undefined,
    type: typeof type === "string" ? type : undefined,
    reason: String(reason),
    requestedAt: new Date(Number(requestedAt)),
    applicationName: String(applicationName),
    revision: Number(revision),
    rules: listIn(rules).map(ruleIn),
    keyIds: listIn(keyIds).map(String).filter(isUuid),
  }),
});

/** @throws {SealBroken} if no server wrote the row. */
export function openExport(keys: TenantKeys, row: Omit<TokenExportRow, "created_at">): TokenExport {
  return {
    ...exportRecord.open(keys, row, row.definition),
    id: row.id,
    applicationId: row.application_id,
    requestedBy: row.created_by,
    approvedBy: row.approved_by ?? undefined,
    expiresAt: row.expires_at,
  };
}

function listIn(stored: Json | undefined): readonly Json[] {
  return Array.isArray(stored) ? stored : [];
}

function ruleIn(stored: Json): ExportRule {
  const { container, transform } = isJsonObject(stored) ? stored : {};
  if (typeof transform !== "string" || !isTransform(transform)) throw new SealBroken("an export has an unknown rule");
  return { container: storedContainer(String(container)), transform };
}
