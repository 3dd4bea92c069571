import type { Uuid } from "../../base/ids.js";
import { defineAll, defineChange, defineDelete, defineInsert, defineRead } from "../statements/row-statements.js";
import { lockedById } from "../transactions/row-lock.js";

/** A request of one member to let an application export tokens, and the approval of another. */
export interface TokenExportRow {
  readonly id: Uuid;
  readonly application_id: Uuid;
  /** The user who asked. */
  readonly created_by: Uuid;
  readonly approved_by: Uuid | null;
  readonly expires_at: Date;
  /** Sealed, and bound to the columns above: the database's owner approves nothing. */
  readonly definition: Buffer;
  readonly created_at: Date;
}

const COLUMNS = "id, application_id, created_by, approved_by, expires_at, definition, created_at";

export const insertTokenExport = defineInsert<Omit<TokenExportRow, "created_at">>("token_exports");
export const readTokenExport = defineRead<TokenExportRow>("token_exports", COLUMNS);
export const lockTokenExport = lockedById("token_exports", readTokenExport);
/** Newest first. A tenant has few: requests end after an hour, and their number is limited. */
export const listTokenExportRows = defineAll<TokenExportRow>("token_exports", COLUMNS);
export const deleteTokenExportRow = defineDelete("token_exports");

type Approval = Pick<TokenExportRow, "id" | "approved_by" | "expires_at" | "definition">;

/** Approves a request that the transaction has locked. */
export const approveTokenExportRow = defineChange<Approval>(
  "token_exports",
  (sql, tenantId, { id, approved_by, expires_at, definition }) => sql`
    update token_exports set approved_by = ${approved_by}, expires_at = ${expires_at}, definition = ${definition}
    where tenant_id = ${tenantId} and id = ${id}`,
);

/** Deletes what has expired. */
export const deleteExpiredTokenExports = defineChange<"expired">(
  "token_exports",
  (sql, tenantId, _, at) => sql`delete from token_exports where tenant_id = ${tenantId} and expires_at <= ${at}`,
);
