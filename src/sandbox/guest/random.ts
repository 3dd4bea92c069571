import type { Host } from "./host.js";

const POOL_BYTES = 1_024;

/**
 * Random numbers from the worker, drawn in blocks. The engine's own generator is part of the snapshot, so every
 * instance would get the same numbers.
 */
export class RandomSource {
  readonly #host: Host;
  #pool: DataView = new DataView(new ArrayBuffer(0));
  #used = 0;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Discards the pool: must be called in every restored instance before anything else runs. */
  reset(): void {
    this.#pool = new DataView(new ArrayBuffer(0));
    this.#used = 0;
  }

  bytes(count: number): Uint8Array {
    return this.#host.random(count);
  }

  /** In [0, 1), with all 53 bits of a double's fraction random. */
  number(): number {
    if (this.#used + 8 > this.#pool.byteLength) {
      this.#pool = new DataView(this.#host.random(POOL_BYTES).buffer);
      this.#used = 0;
    }
    const high = this.#pool.getUint32(this.#used) >>> 5;
    const low = this.#pool.getUint32(this.#used + 4) >>> 6;
    this.#used += 8;
    return (high * 2 ** 26 + low) / 2 ** 53;
  }
}
