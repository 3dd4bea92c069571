import type { Uuid } from "../../base/ids.js";
import { defineDueWork } from "../statements/due-work.js";
import { defineRemoval } from "../statements/removal.js";
import { defineHasWritten, defineInsert, defineRow } from "../statements/row-statements.js";
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

export const readRun = defineRow<Uuid, RunRow>(
  "reactor_runs",
  (sql, tenantId, id, at) => sql`
    select id, reactor_id, application_id, request, state, attempts, claim, result
    from reactor_runs where tenant_id = ${tenantId} and id = ${id} and ${isUnexpired(sql, "expires_at", at)}`,
);

/** Unfinished runs. A run that was already running when it is claimed was interrupted, and its attempt counts. */
export const { claim: claimRuns, hasDue: hasRunsDue } = defineDueWork<RunRow>("reactor_runs", {
  change: `claim = claim + 1, attempts = attempts + case when state = 'running' then 1 else 0 end,
    state = case when state = 'queued' then 'running' else state end`,
  columns: "id, reactor_id, application_id, request, state, attempts, claim, result",
  open: (sql, at) => sql`state <> 'done' and expires_at > ${at}`,
});

export type RunProgress = Pick<RunRow, "id" | "claim" | "state" | "attempts" | "result"> & {
  readonly due_at: Date;
  /** Replaces the request once the code has ended. Null: the request is still needed. */
  readonly spent: Buffer | null;
};

/** Stores a run's progress and releases it, unless another replica has taken it since. Returns whether it did. */
export const advanceRun = defineHasWritten<RunProgress>(
  "reactor_runs",
  (sql, tenantId, { id, claim, state, result, attempts, due_at, spent }) => sql`
    update reactor_runs set state = ${state}, result = ${result}, attempts = ${attempts}, due_at = ${due_at},
      request = coalesce(${spent}, request), lease_until = null
    where tenant_id = ${tenantId} and id = ${id} and claim = ${claim} returning 1`,
);

/** Deletes a run whose result nothing will read. Returns whether it was there. */
export const deleteRun = defineHasWritten<Pick<RunRow, "id" | "claim">>(
  "reactor_runs",
  (sql, tenantId, { id, claim }) => sql`
    delete from reactor_runs where tenant_id = ${tenantId} and id = ${id} and claim = ${claim} returning 1`,
);

export const deleteDueRuns = defineRemoval("reactor_runs", "expires_at");
