import { Fault } from "../../base/fault.js";

const MB = 1024 * 1024;

/** Maximum stored bytes of the large values that one transaction of a request reads: three of the largest tokens. */
export const MAX_READ_BYTES = 16 * MB;

/** The memory that a request may use for the stored values that it reads. */
export interface ReadMemory {
  /** Size of the request's body, which it may write. Absent: small. */
  readonly bodyBytes?: number;
  /** Reserves memory for values of this stored size. Undefined without free memory. */
  reserveReadNow(storedBytes: number): ReadReservation | undefined;
  /** Waits for the caller's share, and reserves it. @throws {Fault} unavailable */
  reserveRead(storedBytes: number): Promise<ReadReservation>;
}

export interface ReadReservation {
  shrink(bodyBytes: number): void;
}

/**
 * Work lacks the memory to read a large value. It waits outside of its transaction, which holds a connection and perhaps
 * locks, and then runs again.
 */
export class MemoryNeeded extends Error {
  readonly storedBytes: number;

  constructor(storedBytes: number) {
    super("work must wait for memory");
    this.storedBytes = storedBytes;
  }
}

/**
 * The memory that one transaction of a request takes for large values before it reads them. The request keeps it until it
 * ends.
 */
export class LargeReads {
  readonly #memory: ReadMemory | undefined;
  /** Stored bytes that the work has asked for since it started. */
  #asked = 0;
  #reserved: readonly ReadReservation[] = [];
  #reservedBytes = 0;

  /** @param memory absent for the server's own jobs, which read a few values at a time. */
  constructor(memory: ReadMemory | undefined) {
    this.#memory = memory;
  }

  /** Size of the request's body. */
  get bodyBytes(): number {
    return this.#memory?.bodyBytes ?? 0;
  }

  /** The work starts, perhaps again. */
  start(): void {
    this.#asked = 0;
  }

  /**
   * Asks for memory for a value, or several. A single one may be larger than the limit for several.
   * @throws {MemoryNeeded}; {Fault} validation_failed for values of more than {@link MAX_READ_BYTES} together.
   */
  reserve(storedBytes: number): void {
    if (!this.#memory) return;
    const asked = this.#asked + storedBytes;
    if (this.#asked > 0 && asked > MAX_READ_BYTES) throw tooManyBytes();
    this.#asked = asked;
    const missing = asked - this.#reservedBytes;
    if (missing <= 0) return;
    const reservation = this.#memory.reserveReadNow(missing);
    if (!reservation) throw new MemoryNeeded(asked);
    this.#reserved = [...this.#reserved, reservation];
    this.#reservedBytes = asked;
  }

  /** Requests that waited with memory in hand would wait for each other. @throws {Fault} unavailable */
  async waitFor({ storedBytes }: MemoryNeeded): Promise<void> {
    this.release();
    if (!this.#memory) return;
    this.#reserved = [await this.#memory.reserveRead(storedBytes)];
    this.#reservedBytes = storedBytes;
  }

  release(): void {
    for (const reservation of this.#reserved) reservation.shrink(0);
    this.#reserved = [];
    this.#reservedBytes = 0;
  }
}

export function tooManyBytes(): Fault {
  const detail = `The tokens that a request reads must not have more than ${MAX_READ_BYTES} bytes together.`;
  return new Fault("validation_failed", detail, { fields: {} });
}
