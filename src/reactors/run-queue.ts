import { asCaller } from "../access/caller-database.js";
import { withFreshRights } from "../access/fresh-rights.js";
import { recordingDenials } from "../access/refusal.js";
import { logEntry } from "../audit/log-entry.js";
import { openTenant } from "../audit/tenant-database.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, type Reason } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { KeyVersionUnknown } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { EgressError } from "../egress/egress-error.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { FunctionFailed } from "../functions/function-failed.js";
import type { Database } from "../store/database.js";
import { advanceRun, claimRuns, deleteRun, type RunProgress, type RunRow } from "../store/functions/reactor-runs.js";
import { scheduleDue } from "../store/jobs/due.js";
import type { ReadMemory } from "../store/transactions/large-reads.js";
import type { Keyring } from "../tenancy/keyring.js";
import { postResult, retryDelay } from "./callback.js";
import { afterThrow, type Interruption, type RunEnd, reactBody } from "./outcome.js";
import { authorizeRun, type ReactParts, react, tokensOfArgs } from "./react.js";
import { runEndRecord, runRequestRecord, type StoredRequest } from "./runs.js";

export interface RunMemory extends Pick<ReadMemory, "reserveReadNow"> {
  close(): void;
}

export interface RunQueueParts extends ReactParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly agents: GuardedAgents;
  readonly openMemory: (tenantId: TenantId, applicationId: Uuid) => RunMemory;
  /** The error in the form that a waiting caller would get over REST. */
  readonly showError: (error: Fault | FunctionFailed) => Json;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
  readonly onUndelivered: (tenantId: TenantId, failure: UndeliveredResult) => void;
}

/** A run whose result goes to its callback address. */
interface EndedRun {
  readonly request: StoredRequest;
  readonly end: RunEnd;
  /** Attempts to deliver it that have failed. */
  readonly failed: number;
}

/** A result that its callback address did not accept. */
export interface UndeliveredResult {
  readonly error: EgressError | Reason;
  readonly attempt: number;
  /** Milliseconds until the next attempt. Absent: this was the last. */
  readonly delay: number | undefined;
}

/**
 * Longer than a claimed run can take, or another replica would run its code and deliver its result a second time: 5 s
 * for a runner, 5 s for a thread, 1 s to load, 30 s to run, up to 12.5 s until stuck code is stopped, and 20 s for the
 * callback, which is 73.5 s, and some seconds for transactions.
 */
export const LEASE_SECONDS = 90;
const AT_ONCE = 4;
const TENANTS_AT_ONCE = 16;
/** A run that a crash or an internal error interrupted this often fails. */
const MAX_CUT_OFF = 3;
/** Delay before retrying a run that found no thread or no database. */
const SOON_MS = 2_000;

/**
 * Executes runs without a waiting caller. Runs are leased: another replica restarts those of a replica that died, so
 * code may run twice, but its result is recorded once.
 */
export class RunQueue {
  readonly #parts: RunQueueParts;
  readonly #working = new Map<TenantId, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(parts: RunQueueParts) {
    this.#parts = parts;
  }

  /** Starts the tenant's runs, unless they are in progress already. */
  wake(tenantId: TenantId): void {
    if (this.#stopping.signal.aborted || this.#working.has(tenantId) || this.#working.size >= TENANTS_AT_ONCE) return;
    const work = this.#work(tenantId)
      .catch((error: unknown) => this.#parts.onFailure(tenantId, error))
      .finally(() => this.#working.delete(tenantId));
    this.#working.set(tenantId, work);
  }

  /** Cancels runs in progress; they restart later, here or elsewhere. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#working.values());
  }

  async #work(tenantId: TenantId): Promise<void> {
    let runs: readonly RunRow[];
    do {
      runs = await this.#parts.database
        .of(tenantId)
        .ordinary((tx) => tx.query(claimRuns, { limit: AT_ONCE, seconds: LEASE_SECONDS }));
      const { keys } = await openTenant(this.#parts, tenantId);
      // Waits for all, even if one fails: abandoned runs would continue beside the next ones, and after the end.
      const ends = await Promise.allSettled(runs.map((run) => this.#advance(keys, run)));
      const failed = ends.find((end) => end.status === "rejected");
      if (failed) throw failed.reason;
    } while (runs.length > 0 && !this.#stopping.signal.aborted);
  }

  async #advance(keys: TenantKeys, run: RunRow): Promise<void> {
    const request = this.#open(keys, run);
    if (run.state === "delivering") {
      if (!run.result) throw new Error("a run that delivers its result has none");
      const end = runEndRecord.open(keys, run, run.result);
      await this.#deliver(keys.tenantId, run, { request, end, failed: run.attempts });
      return;
    }
    const end = await this.#end(keys, run, request);
    if (end.kind === "postponed" || end.kind === "broken_off") {
      const attempts = run.attempts + (end.kind === "broken_off" ? 1 : 0);
      await this.#later(keys.tenantId, run, { state: "queued", result: null, attempts, delay: SOON_MS, spent: null });
      return;
    }
    // The tenant's keys may have been rotated during the run.
    const { keys: current } = await openTenant(this.#parts, keys.tenantId);
    const result = runEndRecord.seal(current, run, end);
    // The arguments, which may include a card's verification code, are not kept as long as the result.
    const spent = runRequestRecord.seal(current, run, { ...request, args: null });
    if (request.callbackUrl === undefined) {
      const done = { state: "done", result, attempts: run.attempts, delay: 0, spent } as const;
      await this.#later(keys.tenantId, run, done, { end, request });
    } else {
      await this.#deliver(keys.tenantId, { ...run, result, request: spent }, { request, end, failed: 0 });
    }
  }

  /** A run under a newer key than the loaded ones fails once; the next attempt loads the new key. */
  #open(keys: TenantKeys, run: RunRow): StoredRequest {
    try {
      return runRequestRecord.open(keys, run, run.request);
    } catch (error) {
      if (error instanceof KeyVersionUnknown) this.#parts.keyring.forget(keys.tenantId);
      throw error;
    }
  }

  async #end(keys: TenantKeys, run: RunRow, request: StoredRequest): Promise<RunEnd | Interruption> {
    if (run.attempts >= MAX_CUT_OFF) return { kind: "failed", failure: cutOff() };
    const memory = this.#parts.openMemory(keys.tenantId, run.application_id);
    try {
      return await this.#react(keys, run, request, withoutWaiting(memory));
    } catch (error) {
      const end = afterThrow(error, this.#stopping.signal.aborted);
      if (end.kind === "broken_off") this.#parts.onFailure(keys.tenantId, end.defect);
      return end;
    } finally {
      memory.close();
    }
  }

  async #react(keys: TenantKeys, run: RunRow, { args, context }: StoredRequest, memory: ReadMemory): Promise<RunEnd> {
    const { authenticator, database } = this.#parts;
    const attempt = async () => {
      const caller = await authenticator.application(keys.tenantId, run.application_id, context);
      if (!caller) throw new Fault("permission_denied", "The application that asked for this does not exist any more.");
      const authorized = await recordingDenials(database, () =>
        asCaller(database, keys, caller, memory).shared((tx) => authorizeRun(tx, run.reactor_id, tokensOfArgs(args))),
      );
      return react(this.#parts, { caller, keys, signal: this.#stopping.signal }, authorized, args);
    };
    return withFreshRights(attempt, (stale) => {
      // The next attempt of the run has the newer key.
      if (stale instanceof KeyVersionUnknown) throw stale;
      authenticator.forgetApplication(keys.tenantId, run.application_id);
    });
  }

  async #deliver(tenantId: TenantId, run: RunRow, { request, end, failed }: EndedRun): Promise<void> {
    const { agents, showError, onUndelivered } = this.#parts;
    const url = request.callbackUrl ?? "";
    const { signal } = this.#stopping;
    const error = await postResult(agents, { tenantId, url, body: reactBody(end, showError) }, signal);
    const delay = retryDelay(failed);
    const attempt = failed + 1;
    const ended = run.state === "delivering" ? undefined : { end, request };
    const spent = ended ? run.request : null;
    if (error && signal.aborted) {
      // An attempt that a stop cut off does not count: the last one would take the result with it.
      const cutOff = { ...run, state: "delivering", attempts: failed, delay: SOON_MS, spent } as const;
      return this.#later(tenantId, run, cutOff, ended);
    }
    if (error) onUndelivered(tenantId, { error, attempt, delay });
    if (!error || delay === undefined) {
      return this.#write(tenantId, async (tx) => {
        if ((await tx.query(deleteRun, run)) && ended) logEnd(tx, run, ended);
      });
    }
    await this.#later(tenantId, run, { ...run, state: "delivering", attempts: attempt, delay, spent }, ended);
  }

  async #later(
    tenantId: TenantId,
    run: RunRow,
    {
      state,
      result,
      attempts,
      delay,
      spent,
    }: Omit<RunProgress, "id" | "claim" | "due_at"> & {
      readonly delay: number;
    },
    ended?: RecordedEnd,
  ): Promise<void> {
    await this.#write(tenantId, async (tx) => {
      const due = new Date(tx.now.getTime() + delay);
      const { id, claim } = run;
      const isWritten = await tx.query(advanceRun, { id, claim, state, result, attempts, spent, due_at: due });
      if (isWritten && ended) logEnd(tx, run, ended);
      if (state !== "done") scheduleDue(tx, { kind: "reactor_run", at: due });
    });
  }

  async #write(tenantId: TenantId, write: (tx: TenantTransaction) => Promise<void>): Promise<void> {
    await (await openTenant(this.#parts, tenantId)).ordinary(write);
  }
}

interface RecordedEnd {
  readonly end: RunEnd;
  readonly request: StoredRequest;
}

/** Leaves a row about the end of a run by the application that asked for it, and the event with the id of its result. */
function logEnd(tx: TenantTransaction, run: RunRow, { end, request: { context } }: RecordedEnd): void {
  const actor = { id: run.application_id, type: "application", keyId: undefined, context } as const;
  const hasFailed = end.kind === "failed" || end.kind === "refused";
  const entry = logEntry("reactor", run.reactor_id, hasFailed ? "fail" : "complete", { actor });
  tx.record(entry, () => ({ request_id: run.id }));
}

function cutOff(): FunctionFailed {
  return new FunctionFailed(500, "Reactor Runtime Error", { error: ["The code was interrupted too often."] });
}

/** A run without memory starts again: it must not wait, because its lease goes on. */
function withoutWaiting(memory: RunMemory): ReadMemory {
  return {
    reserveReadNow: (storedBytes) => memory.reserveReadNow(storedBytes),
    async reserveRead(storedBytes) {
      const reservation = memory.reserveReadNow(storedBytes);
      if (!reservation) throw new Fault("unavailable", "There is no memory for the tokens of the run.");
      return reservation;
    },
  };
}
