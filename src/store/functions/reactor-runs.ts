import type { Uuid } from "../../base/ids.js";
import { defineRemoval } from "../statements/removal.js";
import { defineChange, defineHasRow, defineInsert, defineRow, defineRows } from "../statements/row-statements.js";
import { isUnexpired } from "../statements/unexpired.js";

export type RunState = "queued" | "running" | "delivering" | "done";

export interface RunRow {
  readonly id: Uuid;
  readonly reactor_id: Uuid;
  readonly application_id: Uuid;
  readonly request: Buffer;
  readonly state: RunState;
  /** Times that it was interrupted while running, or its delivery failed. */
  readonly attempts: number;
  readonly claim: number;
  readonly result: Buffer | null;
}

export type NewRun = Pick<RunRow, "id" | "reactor_id" | "application_id" | "request"> & {
  readonly due_at: Date;
  readonly expires_at: Date;
};

export const insertRun = defineInsert<NewRun>("reactor_runs", { state: "queued", attempts: 0, claim: 0 });

/** A run that has not expired. */
export const readRun = defineRow<Uuid, RunRow>(
  "read",
  "reactor_runs",
  (sql, tenantId, id, at) => sql`
    select id, reactor_id, application_id, request, state, attempts, claim, result
    from reactor_runs where tenant_id = ${tenantId} and id = ${id} and ${isUnexpired(sql, "expires_at", at)}`,
);

export interface RunClaim {
  readonly limit: number;
  /** How long no other replica may take them, on the database's clock. */
  readonly seconds: number;
}

/** Takes due runs that no replica works on. A run that was already running was interrupted, and its attempt counts. */
export const claimRuns = defineRows<RunClaim, RunRow>(
  "write",
  "reactor_runs",
  (sql, tenantId, { limit, seconds }, at) => sql`
    update reactor_runs set lease_until = now() + ${seconds} * interval '1 second', claim = claim + 1,
      attempts = attempts + case when state = 'running' then 1 else 0 end,
      state = case when state = 'queued' then 'running' else state end
    where tenant_id = ${tenantId} and id = any(array(
      select id from reactor_runs
      where tenant_id = ${tenantId} and state <> 'done' and due_at <= ${at} and expires_at > ${at}
        and (lease_until is null or lease_until < now())
      order by due_at limit ${limit} for update skip locked))
    returning id, reactor_id, application_id, request, state, attempts, claim, result`,
);

export type RunProgress = Pick<RunRow, "id" | "claim" | "state" | "attempts" | "result"> & {
  readonly due_at: Date;
  /** Replaces the request once the code has ended. Null: the request is still needed. */
  readonly spent: Buffer | null;
};

/** Stores a run's progress and releases it, unless another replica has taken it since. */
export const advanceRun = defineChange<RunProgress>(
  "reactor_runs",
  (sql, tenantId, { id, claim, state, result, attempts, due_at, spent }) => sql`
    update reactor_runs set state = ${state}, result = ${result}, attempts = ${attempts}, due_at = ${due_at},
      request = coalesce(${spent}, request), lease_until = null
    where tenant_id = ${tenantId} and id = ${id} and claim = ${claim}`,
);

/** Deletes a run whose result nothing will read. */
export const deleteRun = defineChange<Pick<RunRow, "id" | "claim">>(
  "reactor_runs",
  (sql, tenantId, { id, claim }) => sql`
    delete from reactor_runs where tenant_id = ${tenantId} and id = ${id} and claim = ${claim}`,
);

/** Whether an unfinished run is due before a time. */
export const hasRunsDue = defineHasRow<Date>(
  "read",
  "reactor_runs",
  (sql, tenantId, until, at) => sql`
    select 1 from reactor_runs
    where tenant_id = ${tenantId} and state <> 'done' and due_at < ${until} and expires_at > ${at} limit 1`,
);

/** Deletes expired results. */
export const deleteDueRuns = defineRemoval("reactor_runs", "expires_at");
