import type { Clock } from "../../base/clock.js";
import type { ConnectionSlot } from "../postgres/connection-slot.js";
import { mustDiscardSession, toStoreError } from "../postgres/database-error.js";
import { type JointOptions, type JointWork, runJointTransaction } from "./joint-transaction.js";
import type { StandbyWait } from "./standby-wait.js";

/** Milliseconds after which the connection of an unanswered transaction is dropped. 50 tenants take some 30 ms. */
const LATE_MS = 30_000;

/** Transactions over several tenants, one after the other on a connection of their own. */
export class JointTransactions {
  readonly #slot: ConnectionSlot;
  readonly #clock: Clock;
  readonly #waitsForStandby: StandbyWait;
  #last: Promise<unknown> = Promise.resolve();

  constructor(slot: ConnectionSlot, clock: Clock, waitsForStandby: StandbyWait) {
    this.#slot = slot;
    this.#clock = clock;
    this.#waitsForStandby = waitsForStandby;
  }

  /** See {@link runJointTransaction}. */
  run<T>(works: readonly JointWork<T>[], options?: JointOptions): Promise<readonly T[]> {
    const running = this.#last.then(() => this.#run(works, options));
    this.#last = running.catch(() => {});
    return running;
  }

  close(): Promise<void> {
    return this.#slot.close();
  }

  async #run<T>(works: readonly JointWork<T>[], options?: JointOptions): Promise<readonly T[]> {
    if (works.length === 0) return [];
    const late = setInterval(() => void this.#dropIfSilent(), LATE_MS);
    try {
      return await this.#slot.run((inUse) => runJointTransaction(inUse, new Date(this.#clock.now()), works, options));
    } catch (error) {
      if (mustDiscardSession(error)) this.#slot.renew();
      throw toStoreError(error);
    } finally {
      clearInterval(late);
    }
  }

  /** A commit that waits for a standby is left to wait: another connection would wait as well. */
  async #dropIfSilent(): Promise<void> {
    const backend = this.#slot.backendWithStandbys;
    if (backend === undefined || !(await this.#waitsForStandby(backend))) this.#slot.renew();
  }
}
