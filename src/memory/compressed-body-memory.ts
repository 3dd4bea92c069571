import { SMALL_BODY_BYTES } from "./body-sizes.js";
import type { RequestMemory, Reservation } from "./request-memory.js";

/** Compressed bytes are held but not parsed: of the 8 bytes of memory that a byte of a body takes, they take 2. */
const COMPRESSED_SHARE = 1 / 4;

/**
 * The memory of a compressed body and of the messages in it. A large body reserves memory for its largest possible
 * message before it is read: bodies that waited with memory in hand would wait for each other.
 */
export class CompressedBodyMemory implements Pick<RequestMemory, "isClosed" | "allowance" | "reserve" | "arrives"> {
  readonly #memory: RequestMemory;
  readonly #largestMessage: number;
  /** For a large body and its first message, until that is inflated. */
  #ahead: Reservation | undefined;
  /** A large body holds memory that others wait for, so its later messages may not wait. */
  #mayWait = true;
  #compressedBytes = 0;
  #growing: Reservation[] = [];

  /** @param largestMessage size limit of an inflated message, in bytes. */
  constructor(memory: RequestMemory, largestMessage: number) {
    this.#memory = memory;
    this.#largestMessage = largestMessage;
  }

  get isClosed() {
    return this.#memory.isClosed;
  }

  get allowance() {
    return this.#memory.allowance;
  }

  arrives(giveWay: () => void): () => void {
    return this.#memory.arrives?.(giveWay) ?? (() => {});
  }

  /** Reserves for compressed bytes. Throws like {@link RequestMemory.reserve}. */
  async reserve(bodyBytes: number): Promise<Reservation> {
    if (bodyBytes <= SMALL_BODY_BYTES) return this.#memory.reserve(bodyBytes);
    this.#mayWait = false;
    this.#compressedBytes = counted(bodyBytes);
    this.#ahead = await this.#memory.reserve(this.#largestMessage + this.#compressedBytes);
    return {
      shrink: (bytes) => {
        this.#compressedBytes = Math.min(this.#compressedBytes, counted(bytes));
      },
    };
  }

  /** Reserves for a message that has inflated to so many bytes. Throws like {@link RequestMemory.reserve}. */
  async reserveInflated(messageBytes: number): Promise<void> {
    if (this.#ahead) return;
    const reservation = this.#mayWait ? this.#memory.reserve(messageBytes) : this.#memory.reserveNow(messageBytes);
    this.#growing.push(await reservation);
  }

  /** Releases what a completely inflated message does not need. */
  endInflation(messageBytes: number): void {
    this.#ahead?.shrink(this.#compressedBytes + messageBytes);
    this.#ahead = undefined;
    const last = this.#growing.pop();
    for (const earlier of this.#growing) earlier.shrink(0);
    last?.shrink(messageBytes);
    this.#growing = [];
  }

  /** Releases what a body does not need whose messages are not compressed after all. */
  endPlain(bodyBytes: number): void {
    this.#ahead?.shrink(bodyBytes);
    this.#ahead = undefined;
  }
}

function counted(compressedBytes: number): number {
  return Math.ceil(compressedBytes * COMPRESSED_SHARE);
}
