import type { Instance } from "../engine/engine.js";
import type { InstanceLimits } from "../limits.js";

interface Idle {
  readonly key: string;
  readonly warm: InstanceInUse;
  readonly since: number;
}

/** An instance that serves a call, with the state that decides about its reuse. */
export interface InstanceInUse {
  readonly instance: Instance;
  /** Calls served before this one. */
  readonly calls: number;
}

/** The idle instances of one thread. Each serves one call at a time, and only calls of its own key. */
export class WarmInstances {
  readonly #limits: InstanceLimits;
  readonly #now: () => number;
  /** The least recently used comes first. */
  #idle: Idle[] = [];

  /** @param now milliseconds on a monotonic clock. */
  constructor(limits: InstanceLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Takes the most recently used instance of this key, which lets the others expire. */
  take(key: string): InstanceInUse | undefined {
    const index = this.#idle.findLastIndex((idle) => idle.key === key);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0]?.warm;
  }

  give(key: string, { instance, calls }: InstanceInUse): void {
    const limits = this.#limits;
    if (!instance.isUsable || calls + 1 >= limits.calls || instance.memoryBytes > limits.largeBytes) {
      instance.dispose();
      return;
    }
    this.#idle.push({ key, warm: { instance, calls: calls + 1 }, since: this.#now() });
    while (this.#idle.length > limits.perThread || this.#memoryBytes() > limits.memoryBytes) this.#dropOldest();
  }

  /** Drops instances that were idle for too long. */
  sweep(): void {
    const oldest = this.#now() - this.#limits.idleMs;
    for (const idle of this.#idle) {
      if (idle.since <= oldest) idle.warm.instance.dispose();
    }
    this.#idle = this.#idle.filter((idle) => idle.since > oldest);
  }

  get size(): number {
    return this.#idle.length;
  }

  #memoryBytes(): number {
    return this.#idle.reduce((sum, { warm }) => sum + warm.instance.memoryBytes, 0);
  }

  #dropOldest(): void {
    this.#idle.shift()?.warm.instance.dispose();
  }
}
