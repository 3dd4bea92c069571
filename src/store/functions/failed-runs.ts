import type { Uuid } from "../../base/ids.js";
import { defineRemoval } from "../statements/removal.js";
import { defineChange, defineRows } from "../statements/row-statements.js";
import { defineWrite } from "../statements/statement.js";
import { isUnexpired } from "../statements/unexpired.js";

export interface FailedRunRow {
  readonly id: Uuid;
  readonly record: Buffer;
  readonly created_at: Date;
}

export type NewFailedRun = Pick<FailedRunRow, "id" | "record"> & {
  readonly function_id: Uuid;
  readonly expires_at: Date;
};

/** The number of failed runs kept for each reactor or proxy. Concurrent inserts may leave a few more for a while. */
export const MAX_FAILED_RUNS = 20;

/** Stores a failed run and deletes its function's oldest ones. Skips rows that another transaction is deleting. */
export const insertFailedRun = defineWrite<NewFailedRun>({
  table: "failed_runs",
  queries: (sql, tenantId, inputs, at) =>
    inputs.flatMap((input) => {
      const row = { tenant_id: tenantId, created_at: at, ...input };
      return [
        sql`insert into failed_runs ${sql(row)}`,
        sql`
          delete from failed_runs where tenant_id = ${tenantId} and id = any(array(
            select id from failed_runs where tenant_id = ${tenantId} and function_id = ${input.function_id}
            order by created_at desc, id desc offset ${MAX_FAILED_RUNS} for update skip locked))`,
      ];
    }),
});

/** The unexpired runs of a reactor or proxy, newest first. */
export const listFailedRuns = defineRows<Uuid, FailedRunRow>(
  "failed_runs",
  (sql, tenantId, id, at) => sql`
    select id, record, created_at from failed_runs
    where tenant_id = ${tenantId} and function_id = ${id} and ${isUnexpired(sql, "expires_at", at)}
    order by created_at desc, id desc limit ${MAX_FAILED_RUNS}`,
);

export const deleteFailedRuns = defineChange<Uuid>(
  "failed_runs",
  (sql, tenantId, functionId) =>
    sql`delete from failed_runs where tenant_id = ${tenantId} and function_id = ${functionId}`,
);

export const deleteDueFailedRuns = defineRemoval("failed_runs", "expires_at");
