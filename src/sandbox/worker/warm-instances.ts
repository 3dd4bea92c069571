import type { Instance } from "../engine/engine.js";
import type { InstanceLimits } from "../limits.js";

interface Idle {
  readonly key: string;
  readonly leased: LeasedInstance;
  readonly since: number;
}

/** An instance that is serving a call, with what decides whether it may serve another. */
export interface LeasedInstance {
  readonly instance: Instance;
  /** Calls served before this one. */
  readonly calls: number;
}

/** The idle instances of one thread. Each serves one call at a time, and only calls of its own key. */
export class WarmInstances {
  readonly #limits: InstanceLimits;
  readonly #now: () => number;
  /** The one that was used longest ago comes first. */
  #idle: Idle[] = [];

  /** @param now milliseconds on a clock that never goes back. */
  constructor(limits: InstanceLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** The instance of this key that was used last: the others may come to rest. */
  take(key: string): LeasedInstance | undefined {
    const index = this.#idle.findLastIndex((idle) => idle.key === key);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0]?.leased;
  }

  /** Takes an instance back after a call, or drops it. */
  give(key: string, { instance, calls }: LeasedInstance): void {
    const limits = this.#limits;
    if (!instance.isUsable || calls + 1 >= limits.calls || instance.memoryBytes > limits.largeBytes) {
      instance.dispose();
      return;
    }
    this.#idle.push({ key, leased: { instance, calls: calls + 1 }, since: this.#now() });
    while (this.#idle.length > limits.perThread || this.#memoryBytes() > limits.memoryBytes) this.#dropOldest();
  }

  /** Drops what has been idle for too long. */
  sweep(): void {
    const oldest = this.#now() - this.#limits.idleMs;
    for (const idle of this.#idle) {
      if (idle.since <= oldest) idle.leased.instance.dispose();
    }
    this.#idle = this.#idle.filter((idle) => idle.since > oldest);
  }

  get size(): number {
    return this.#idle.length;
  }

  #memoryBytes(): number {
    return this.#idle.reduce((sum, { leased }) => sum + leased.instance.memoryBytes, 0);
  }

  #dropOldest(): void {
    this.#idle.shift()?.leased.instance.dispose();
  }
}
