import type { CallerTransaction } from "../access/caller-transaction.js";
import { type Clock, DAY_MS } from "../base/clock.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { FunctionKind } from "../sandbox/limits.js";
import type { ConsoleLine, RunOutcome } from "../sandbox/run.js";
import { insertFailedRun, listFailedRuns } from "../store/functions/failed-runs.js";
import { scheduleDue } from "../store/jobs/due.js";
import type { Tenants } from "../tenancy/tenants.js";
import { FunctionFailed, readFunctionFailed } from "./function-failed.js";
import type { TenantFunction } from "./function-runner.js";
import { type ObservedRun, observedRun } from "./observed-run.js";

export interface FailedRun extends ObservedRun {
  readonly id: Uuid;
  readonly failure: FunctionFailed;
  readonly createdAt: Date;
}

const KEPT_MS = DAY_MS;
/**
 * Failed runs that one process stores per minute, of one function and of one tenant: code that always fails must not
 * fill the disk.
 */
const PER_FUNCTION = 10;
const PER_TENANT = 60;
/** Runs being stored at a time. Further ones are dropped, because the database cannot keep up. */
const MAX_UNDER_WAY = 100;
/** Longest delay of the caller's response by storing, in milliseconds. */
const TIMEOUT_MS = 250;
/** Limits of stored error texts, and of characters of each. */
const MAX_TEXTS = 50;
const MAX_CHARACTERS = 2_000;

export interface FailedRunParts {
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly onFailure: (tenantId: TenantId) => void;
}

/** Stores failed runs for their tenant to read. Errors in storing do not change the response. */
export class FailedRuns {
  readonly #parts: FailedRunParts;
  readonly #underWay = new Set<Promise<void>>();
  readonly #kept = new Map<string, number>();
  #minute = 0;

  constructor(parts: FailedRunParts) {
    this.#parts = parts;
  }

  async observe(fn: TenantFunction, outcome: RunOutcome): Promise<void> {
    const run = observedRun(fn.kind, outcome);
    if (!run.failure || !this.#hasRoom(fn)) return;
    const { onFailure } = this.#parts;
    const storing = this.#store(fn, run, run.failure).catch(() => onFailure(fn.tenantId));
    this.#underWay.add(storing);
    void storing.finally(() => this.#underWay.delete(storing));
    const timeout = new AbortController();
    await Promise.race([storing, elapsed(TIMEOUT_MS, timeout.signal)]);
    timeout.abort();
  }

  async settle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #hasRoom({ tenantId, id }: TenantFunction): boolean {
    const minute = Math.floor(this.#parts.clock.now() / 60_000);
    if (minute !== this.#minute) this.#kept.clear();
    this.#minute = minute;
    const ofFunction = this.#kept.get(`${tenantId} ${id}`) ?? 0;
    const ofTenant = this.#kept.get(tenantId) ?? 0;
    if (ofFunction >= PER_FUNCTION || ofTenant >= PER_TENANT || this.#underWay.size >= MAX_UNDER_WAY) return false;
    this.#kept.set(`${tenantId} ${id}`, ofFunction + 1).set(tenantId, ofTenant + 1);
    return true;
  }

  async #store({ tenantId, id: functionId }: TenantFunction, run: ObservedRun, failure: FunctionFailed): Promise<void> {
    const tenant = await this.#parts.tenants.of(tenantId);
    const id = newUuid();
    const record = failedRunRecord.seal(tenant.keys, { id }, { ...run, failure });
    await tenant.bulk(async (tx) => {
      const expiresAt = new Date(tx.now.getTime() + KEPT_MS);
      tx.enqueue(insertFailedRun, { id, function_id: functionId, record, expires_at: expiresAt });
      scheduleDue(tx, { kind: "failed_run", at: expiresAt });
    });
  }
}

type FailedRunContent = ObservedRun & Pick<FailedRun, "failure">;

export const failedRunRecord = sealedRecord({ field: "failed_run", write: writeRun, read: readRun });

function writeRun({ kind, console, usage, failure }: FailedRunContent): JsonObject {
  const lines = console.map(({ level, text }) => ({ level, text }));
  return { kind, error: shortened(failure).toJson(), console: lines, usage: usage ? { ...usage } : null };
}

function shortened({ status, detail, errors, position }: FunctionFailed): FunctionFailed {
  const cut = (text: string) => text.slice(0, MAX_CHARACTERS);
  const texts = Object.entries(errors)
    .flatMap(([name, list]) => list.map((text): [string, string] => [cut(name), cut(text)]))
    .slice(0, MAX_TEXTS);
  const kept = new Map<string, string[]>();
  for (const [name, text] of texts) kept.set(name, [...(kept.get(name) ?? []), text]);
  return new FunctionFailed(status, cut(detail), Object.fromEntries(kept), position);
}

/** Lists the failed runs of an existing reactor or proxy, newest first, and logs the access. */
export async function readFailedRuns(
  tx: CallerTransaction,
  entityType: "reactor" | "proxy",
  id: Uuid,
): Promise<readonly FailedRun[]> {
  const rows = await tx.query(listFailedRuns, id);
  tx.log(entityType, id, "read", "failed runs");
  return rows.map((row) => ({
    ...failedRunRecord.open(tx.keys, row, row.record),
    id: row.id,
    createdAt: row.created_at,
  }));
}

function readRun({ kind, error, console, usage }: JsonObject): FailedRunContent {
  if (!isJsonObject(error)) throw new Error("a failed run has no error");
  return {
    kind: readKind(kind),
    failure: readFunctionFailed(error),
    console: Array.isArray(console) ? console.map(readLine) : [],
    usage: isJsonObject(usage) ? { ms: Number(usage.ms), memoryBytes: Number(usage.memoryBytes) } : undefined,
  };
}

const KINDS: readonly FunctionKind[] = ["reactor", "formula", "request_transform", "response_transform"];
const LEVELS: readonly ConsoleLine["level"][] = ["debug", "log", "info", "warn", "error"];

function readKind(stored: Json | undefined): FunctionKind {
  const kind = KINDS.find((known) => known === stored);
  if (!kind) throw new Error("a failed run has an unknown kind");
  return kind;
}

function readLine(stored: Json): ConsoleLine {
  const { level, text } = isJsonObject(stored) ? stored : {};
  return { level: LEVELS.find((known) => known === level) ?? "log", text: String(text) };
}

function elapsed(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => clearTimeout(timer));
  });
}
