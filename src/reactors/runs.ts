import { actorOf, applicationOf, type Caller } from "../access/caller.js";
import { deniedWith } from "../access/refusal.js";
import { type AuditContext, readContext, writeContext } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import { DAY_MS } from "../base/clock.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { encodeAad, open, type SealContext, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { insertRun, type RunRow, readRun } from "../store/functions/reactor-runs.js";
import { readReactor } from "../store/functions/reactors.js";
import { scheduleDue } from "../store/jobs/due.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-rows.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { type RunEnd, readEnd, writeEnd } from "./outcome.js";

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
export async function startRun(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  reactorId: Uuid,
  request: RunRequest,
): Promise<Uuid> {
  if (caller.session) throw deniedWith(caller, sessionsDoNotOutlast(), "reactor", reactorId, "later, by a session");
  if (!(await tx.query(readReactor, reactorId))) throw notFound("reactor");
  const id = newUuid();
  const expiresAt = new Date(tx.now.getTime() + KEPT_MS);
  const run = { id, reactor_id: reactorId, application_id: applicationOf(caller).id };
  tx.enqueue(insertRun, {
    ...run,
    request: sealRequest(keys, tx.tenantId, run, { ...request, context: caller.context }),
    due_at: tx.now,
    expires_at: expiresAt,
  });
  scheduleDue(tx, { kind: "reactor_run", at: tx.now });
  scheduleDue(tx, { kind: "reactor_result", at: expiresAt });
  return id;
}

/** The end of a run. Visible to the application that requested it, once the run has ended. */
export async function readRunEnd(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  reactorId: Uuid,
  id: Uuid,
): Promise<RunEnd> {
  const row = await tx.query(readRun, id);
  const isTheirs = row?.reactor_id === reactorId && row.application_id === applicationOf(caller).id && !caller.session;
  if (!row?.result || !isTheirs || row.state !== "done") throw notFound("result, or not yet");
  writeLog(tx, logEntry(actorOf(caller), "reactor", reactorId, "read", "result"));
  return openEnd(keys, tx.tenantId, row);
}

/** The place of a run's sealed parts: the reactor and the application it runs as. */
type RunPlace = Pick<RunRow, "id" | (typeof AAD_COLUMNS.reactor_runs)[number]>;

export function sealRequest(
  keys: TenantKeys,
  tenantId: TenantId,
  run: RunPlace,
  { args, callbackUrl, context }: StoredRequest,
): Buffer {
  const part = { args, callback_url: callbackUrl ?? null, context: writeContext(context) };
  return seal(keys.data, placeOf(tenantId, run, "run_request"), Buffer.from(JSON.stringify(part)));
}

/** @throws {Error} if the row was not written by {@link sealRequest}. */
export function openRequest(keys: TenantKeys, tenantId: TenantId, row: RunRow): StoredRequest {
  const stored: Json = JSON.parse(open(keys.data, placeOf(tenantId, row, "run_request"), row.request).toString());
  if (!isJsonObject(stored)) throw new Error("the request of a run is not an object");
  const { args = null, callback_url: url, context } = stored;
  return { args, context: readContext(context), callbackUrl: typeof url === "string" ? url : undefined };
}

export function sealEnd(keys: TenantKeys, tenantId: TenantId, run: RunPlace, end: RunEnd): Buffer {
  return seal(keys.data, placeOf(tenantId, run, "run_result"), Buffer.from(JSON.stringify(writeEnd(end))));
}

export function openEnd(keys: TenantKeys, tenantId: TenantId, run: RunPlace & Pick<RunRow, "result">): RunEnd {
  if (!run.result) throw new Error("a run has no result yet");
  return readEnd(JSON.parse(open(keys.data, placeOf(tenantId, run, "run_result"), run.result).toString()));
}

function placeOf(tenantId: TenantId, run: RunPlace, field: "run_request" | "run_result"): SealContext {
  return { tenantId, entity: run.id, field, bound: encodeAad(run, AAD_COLUMNS.reactor_runs) };
}

function sessionsDoNotOutlast(): Fault {
  return new Fault("permission_denied", "A session may expire before such a run ends: use an application key.");
}
