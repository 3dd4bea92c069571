import type { Uuid } from "../../base/ids.js";
import { AUTHORSHIP, type AuthorshipColumns } from "../statements/authorship.js";
import {
  defineAll,
  defineChange,
  defineCount,
  defineDelete,
  defineHasRow,
  defineInsert,
  defineRead,
  defineRows,
  defineUpdate,
} from "../statements/row-statements.js";
import { lockedById } from "../transactions/row-lock.js";

export type ConnectionStatus = "pending" | "available" | "failed";

interface StoredConnection {
  readonly id: Uuid;
  readonly formula_id: string;
  /** Sealed. */
  readonly name: Buffer;
  readonly fields: Buffer;
  readonly accepted_countries: string[];
  readonly accepted_currencies: string[];
  readonly active: boolean;
  readonly status: ConnectionStatus;
  readonly checks: number;
  readonly check_due_at: Date | null;
  readonly revision: number;
}

export type ConnectionRow = StoredConnection & AuthorshipColumns;

export type NewConnection = Omit<StoredConnection, "revision"> & { readonly created_by: Uuid };

export const insertConnection = defineInsert<NewConnection>("connections", { revision: 1 });

const COLUMNS = `
  id, formula_id, name, fields, accepted_countries, accepted_currencies, active, status, checks, check_due_at, revision,
  ${AUTHORSHIP}`;

export const readConnection = defineRead<ConnectionRow>("connections", COLUMNS);

export const lockConnection = lockedById("connections", readConnection);

export const listConnectionRows = defineAll<ConnectionRow>("connections", COLUMNS);

export const countConnections = defineCount<"all">(
  "connections",
  (sql, tenantId) => sql`select count(*) as n from connections where tenant_id = ${tenantId}`,
);

export const listDueChecks = defineRows<"due", ConnectionRow>(
  "connections",
  (sql, tenantId, _, at) => sql`
    select ${sql.unsafe(COLUMNS)} from connections
    where tenant_id = ${tenantId} and check_due_at <= ${at} order by check_due_at limit 20`,
);

/** Whether a credentials check is due before a time. */
export const hasChecksDue = defineHasRow<Date>(
  "connections",
  (sql, tenantId, until) =>
    sql`select 1 from connections where tenant_id = ${tenantId} and check_due_at < ${until} limit 1`,
);

export type ConnectionChange = StoredConnection & { readonly modified_by: Uuid };

export const updateConnectionRow = defineUpdate<ConnectionChange>("connections");

export type CheckResult = Pick<ConnectionRow, "id" | "status" | "checks" | "check_due_at" | "revision">;

/** Stores the result of a credentials check if the connection is unchanged since the check began. */
export const saveCredentialsCheck = defineChange<CheckResult>(
  "connections",
  (sql, tenantId, { id, status, checks, check_due_at, revision }) => sql`
    update connections set status = ${status}, checks = ${checks}, check_due_at = ${check_due_at}
    where tenant_id = ${tenantId} and id = ${id} and revision = ${revision}`,
);

export const deleteConnectionRow = defineDelete("connections");

/**
 * Marks the credentials as failed after a payment found that they do not work, if the connection is unchanged since.
 */
export const markCredentialsFailed = defineChange<Pick<ConnectionRow, "id" | "revision">>(
  "connections",
  (sql, tenantId, { id, revision }) => sql`
    update connections set status = 'failed', check_due_at = null
    where tenant_id = ${tenantId} and id = ${id} and revision = ${revision}`,
);
