import { VAULT_TENANT_ID } from "../../base/ids.js";
import type { Database } from "../database.js";
import { defineStatement } from "../statements/statement.js";
import { IS_RARE_TYPE } from "./log-listing.js";

/** Dates of the vault as a whole that operators watch. Null for what has not happened. */
export interface WatchedDates {
  readonly rootKey: Date | null;
  readonly lastExport: Date | null;
}

interface DateRow {
  readonly at: Date | null;
}

const listWatchedDates = defineStatement<"all", WatchedDates, DateRow>({
  // Root keys belong to no tenant, and are not locked here.
  table: "audit_logs",
  kind: "read",
  queries: (sql) => [
    sql`select max(created_at) as at from root_keys where retired_at is null`,
    sql`select max(created_at) as at from audit_logs where tenant_id = ${VAULT_TENANT_ID} and entity_type = 'export' and ${sql.unsafe(IS_RARE_TYPE)}`,
  ],
  outputs: ([rootKeys = [], exports = []], inputs) =>
    inputs.map(() => ({ rootKey: rootKeys[0]?.at ?? null, lastExport: exports[0]?.at ?? null })),
});

export function readWatchedDates(database: Pick<Database, "of">): Promise<WatchedDates> {
  return database.of(VAULT_TENANT_ID).bulk((tx) => tx.query(listWatchedDates, "all"));
}
