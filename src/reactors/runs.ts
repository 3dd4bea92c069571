import { actorOf, type Caller } from "../access/caller.js";
import { Refused, refuseWith } from "../access/refusal.js";
import { logEntry } from "../audit/log-entry.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { open, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit-logs.js";
import { noteDue } from "../store/due.js";
import { insertRun, type RunRow, readRun } from "../store/reactor-runs.js";
import { readReactor } from "../store/reactors.js";
import type { Transaction } from "../store/transaction.js";
import { type RunEnd, readEnd, writeEnd } from "./outcome.js";

/** How long results are kept, and how long a run may be pending at all. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** A call that nobody waits for. */
export interface RunRequest {
  /** As they were sent: references are replaced when the run starts. */
  readonly args: Json;
  /** Where the result is posted to. */
  readonly callbackUrl: string | undefined;
}

/**
 * Stores a run to be started later, as the application that asks for it now.
 * @returns the id that its result is read by.
 */
export async function startRun(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  reactorId: Uuid,
  request: RunRequest,
): Promise<Uuid | Refused> {
  if (caller.session)
    return refuseWith(tx, caller, sessionsDoNotOutlast(), "reactor", reactorId, "later, by a session");
  if (!(await tx.ask(readReactor, reactorId))) return new Refused(notFound("reactor"));
  const id = newUuid();
  const expiresAt = new Date(tx.now.getTime() + KEPT_MS);
  tx.tell(insertRun, {
    id,
    reactor_id: reactorId,
    application_id: caller.application.id,
    request: sealRequest(keys, tx.tenantId, id, request),
    due_at: tx.now,
    expires_at: expiresAt,
  });
  noteDue(tx, { kind: "reactor_run", at: tx.now });
  noteDue(tx, { kind: "reactor_result", at: expiresAt });
  return id;
}

/** How a run ended. It is there for the application that asked for it, and not before it has ended. */
export async function readRunEnd(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  reactorId: Uuid,
  id: Uuid,
): Promise<RunEnd | Refused> {
  const row = await tx.ask(readRun, id);
  const isTheirs = row?.reactor_id === reactorId && row.application_id === caller.application.id && !caller.session;
  if (!row?.result || !isTheirs || row.state !== "done") return new Refused(notFound("result, or not yet"));
  writeLog(tx, logEntry(actorOf(caller), "reactor", reactorId, "read", "result"));
  return openEnd(keys, tx.tenantId, row);
}

export function sealRequest(keys: TenantKeys, tenantId: TenantId, id: Uuid, { args, callbackUrl }: RunRequest): Buffer {
  return sealPart(keys, tenantId, id, "run_request", { args, callback_url: callbackUrl ?? null });
}

/** @throws {Error} when the row is not what {@link sealRequest} wrote. */
export function openRequest(keys: TenantKeys, tenantId: TenantId, row: RunRow): RunRequest {
  const stored: Json = JSON.parse(openPart(keys, tenantId, row.id, "run_request", row.request));
  if (!isJsonObject(stored)) throw new Error("the request of a run is no object");
  const { args = null, callback_url: url } = stored;
  return { args, callbackUrl: typeof url === "string" ? url : undefined };
}

export function sealEnd(keys: TenantKeys, tenantId: TenantId, id: Uuid, end: RunEnd): Buffer {
  return sealPart(keys, tenantId, id, "run_result", writeEnd(end));
}

export function openEnd(keys: TenantKeys, tenantId: TenantId, { id, result }: Pick<RunRow, "id" | "result">): RunEnd {
  if (!result) throw new Error("a run without a result was asked for it");
  return readEnd(JSON.parse(openPart(keys, tenantId, id, "run_result", result)));
}

function sealPart(keys: TenantKeys, tenantId: TenantId, entity: Uuid, field: string, part: Json): Buffer {
  return seal(keys.data, { tenantId, entity, field }, Buffer.from(JSON.stringify(part)));
}

function openPart(keys: TenantKeys, tenantId: TenantId, entity: Uuid, field: string, sealed: Buffer): string {
  return open(keys.data, { tenantId, entity, field }, sealed).toString();
}

function sessionsDoNotOutlast(): Fault {
  return new Fault("permission_denied", "A session is over before such a run may be: use an application key.");
}
