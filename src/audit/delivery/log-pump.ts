import { type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import type { LogSink } from "../../sinks/sink.js";
import { readSinkPositions, type SinkPosition, saveSinkPosition } from "../../store/audit/audit-sinks.js";
import type { Database } from "../../store/database.js";
import { batchesAfter, SINK_START, type SinkBatch } from "./sink-batches.js";
import { vaultBatchesAfter } from "./vault-batches.js";

/**
 * Batches that one tenant may send before the next has its turn. A turn ends within the sender's lease of 60 s, also if
 * each batch takes the 10 s after which sinks give up.
 */
const TURN = 4;

/** A position that a sink reached, which its connection may still lose. */
interface UnsurePosition {
  readonly tenantId: TenantId;
  readonly position: SinkPosition;
  /** On the clock of performance.now(). */
  readonly sentAt: number;
}

export interface TurnOutcome {
  /**
   * - `done`: the sink has all sealed minutes
   * - `unsure`: they were sent, and the connection may still lose them
   * - `more`: the turn is over
   */
  readonly left: "done" | "unsure" | "more";
  readonly hasSent: boolean;
}

/** Sends tenants' logs to one sink, at least once and in order for each tenant, from stored positions. */
export class LogPump {
  readonly #database: Database;
  readonly #sink: LogSink;
  /** What was sent and is unsure yet: the last position of each tenant, and all in the order of sending. */
  readonly #ahead = new Map<TenantId, SinkPosition>();
  #unsure: UnsurePosition[] = [];
  /** The receiver has read what was sent until then. */
  #confirmedAt = Number.NEGATIVE_INFINITY;

  constructor(database: Database, sink: LogSink) {
    this.#database = database;
    this.#sink = sink;
  }

  /** @throws {SinkFailed} if the sink does not take it. */
  async turn(tenantId: TenantId, signal: AbortSignal): Promise<TurnOutcome> {
    const start = this.#ahead.get(tenantId) ?? (await this.#stored(tenantId));
    let batches = 0;
    for await (const { records, position } of this.#batches(tenantId, start)) {
      await this.#sink.send(records, signal);
      await this.#sent(tenantId, position);
      batches += 1;
      if (batches === TURN || signal.aborted) return { left: "more", hasSent: true };
    }
    return { left: this.#ahead.has(tenantId) ? "unsure" : "done", hasSent: batches > 0 };
  }

  /**
   * Stores positions that have become sure, and forgets those of a connection that has ended.
   * @throws {SinkFailed} if the receiver has not read what was sent long ago.
   */
  async settle(signal: AbortSignal): Promise<void> {
    if (this.#sink.takeLost()) return this.forget();
    const sureBy = performance.now() - this.#sink.unsureForMs;
    if (this.#unsure.some(({ sentAt }) => sentAt > this.#confirmedAt && sentAt <= sureBy)) {
      const at = performance.now();
      await this.#sink.confirm(signal);
      if (this.#sink.takeLost()) return this.forget();
      this.#confirmedAt = at;
    }
    const end = this.#unsure.findIndex(({ sentAt }) => sentAt > sureBy);
    const settled = this.#unsure.slice(0, end < 0 ? this.#unsure.length : end);
    for (const [tenantId, position] of new Map(settled.map((one) => [one.tenantId, one.position]))) {
      await this.#save(tenantId, position);
      if (this.#ahead.get(tenantId) === position) this.#ahead.delete(tenantId);
    }
    // Only now: if the database fails, the next run stores them.
    this.#unsure = this.#unsure.slice(settled.length);
  }

  /** Forgets what is unsure: this process, or another one, continues from the stored positions. */
  forget(): void {
    this.#ahead.clear();
    this.#unsure = [];
  }

  #batches(tenantId: TenantId, start: SinkPosition): AsyncGenerator<SinkBatch> {
    const isVault = tenantId === VAULT_TENANT_ID;
    return isVault ? vaultBatchesAfter(this.#database, start) : batchesAfter(this.#database, tenantId, start);
  }

  async #stored(tenantId: TenantId): Promise<SinkPosition> {
    const positions = await this.#database.of(tenantId).bulk((tx) => tx.query(readSinkPositions, "all"));
    return positions.get(this.#sink.name) ?? SINK_START;
  }

  async #sent(tenantId: TenantId, position: SinkPosition): Promise<void> {
    if (this.#sink.unsureForMs === 0) return this.#save(tenantId, position);
    this.#ahead.set(tenantId, position);
    this.#unsure.push({ tenantId, position, sentAt: performance.now() });
  }

  async #save(tenantId: TenantId, position: SinkPosition): Promise<void> {
    await this.#database.of(tenantId).bulk(async (tx) => {
      tx.enqueue(saveSinkPosition, { sink: this.#sink.name, position });
    });
  }
}
