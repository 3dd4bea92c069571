import { callingApplication } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { deniedWith } from "../access/refusal.js";
import { type AuditContext, readContext, writeContext } from "../audit/audit-context.js";
import { DAY_MS } from "../base/clock.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import { insertRun, readRun } from "../store/functions/reactor-runs.js";
import { scheduleDue } from "../store/jobs/due.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import { type RunEnd, readRunResult, writeEnd } from "./outcome.js";
import { reactors } from "./reactor.js";

/** How long results are kept, and how long a run may be pending. */
const KEPT_MS = DAY_MS;

/** A call without a waiting caller. */
export interface RunRequest {
  /** As sent: references are replaced when the run starts. */
  readonly args: Json;
  /** Address to which the result is posted. */
  readonly callbackUrl: string | undefined;
}

/** A call as it is stored, with what log rows say of it. */
export interface StoredRequest extends RunRequest {
  readonly context: AuditContext;
}

/**
 * Stores a run to start later, as the calling application.
 * @returns the id for reading its result.
 */
export async function startRun(tx: CallerTransaction, reactorId: Uuid, request: RunRequest): Promise<Uuid> {
  if (tx.caller.session)
    throw deniedWith(tx.caller, sessionsDoNotOutlast(), "later, by a session", { type: "reactor", id: reactorId });
  await reactors.find(tx, reactorId);
  const id = newUuid();
  const expiresAt = new Date(tx.now.getTime() + KEPT_MS);
  const run = { id, reactor_id: reactorId, application_id: callingApplication(tx.caller).id };
  tx.enqueue(insertRun, {
    ...run,
    request: runRequestRecord.seal(tx.keys, run, { ...request, context: tx.caller.context }),
    due_at: tx.now,
    expires_at: expiresAt,
  });
  scheduleDue(tx, { kind: "reactor_run", at: tx.now });
  scheduleDue(tx, { kind: "reactor_result", at: expiresAt });
  return id;
}

/** The end of a run. Visible to the application that requested it, once the run has ended. */
export async function readRunEnd(tx: CallerTransaction, reactorId: Uuid, id: Uuid): Promise<RunEnd> {
  const row = await tx.query(readRun, id);
  const isTheirs =
    row?.reactor_id === reactorId && row.application_id === callingApplication(tx.caller).id && !tx.caller.session;
  if (!row?.result || !isTheirs || row.state !== "done") throw notFound("result, or not yet");
  tx.log("reactor", reactorId, "read", "result");
  return runEndRecord.open(tx.keys, row, row.result);
}

export const runRequestRecord = sealedRecord({
  field: "run_request",
  bound: AAD_COLUMNS.reactor_runs,
  write: ({ args, callbackUrl, context }: StoredRequest) => ({
    args,
    callback_url: callbackUrl ?? null,
    context: writeContext(context),
  }),
  read: ({ args = null, callback_url: url, context }): StoredRequest => ({
    args,
    context: readContext(context),
    callbackUrl: typeof url === "string" ? url : undefined,
  }),
});

export const runEndRecord = sealedRecord({
  field: "run_result",
  bound: AAD_COLUMNS.reactor_runs,
  write: writeEnd,
  read: readRunResult,
});

function sessionsDoNotOutlast(): Fault {
  return new Fault("permission_denied", "A session may expire before such a run ends: use an application key.");
}
