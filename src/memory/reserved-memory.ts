import { presentCaller } from "../base/caller-turns.js";
import { Fault } from "../base/fault.js";
import { memoryRefused } from "./body-fault.js";
import { BODY_BYTES_FOR_STORED, MEMORY_PER_BODY_BYTE, SMALL_BODY_BYTES } from "./body-sizes.js";
import { memoryHolders } from "./memory-holders.js";
import { type Holder, MemoryPool, type MemoryPools, type PendingReservation } from "./memory-pool.js";
import type { BodyAllowance, Proof, RequestMemory, Reservation } from "./request-memory.js";
import type { UnprovenMemory } from "./unproven-memory.js";

/** One request reads stored values within this part of the memory for large bodies: those of two of the largest. */
const LARGEST_READ_SHARE = 4;

const NO_RESERVATION: Reservation = { shrink: () => {} };

/** By kind of proof. Node itself ends a request that takes more than 60 s to arrive. */
const ALLOWANCES: Readonly<Record<Proof["kind"] | "nothing", BodyAllowance>> = {
  nothing: { maxBytes: 64 * 1024, timeMs: 5_000 },
  // A proof by a passkey is the longest.
  sign_in: { maxBytes: 16 * 1024, timeMs: 5_000 },
  address: { maxBytes: Number.POSITIVE_INFINITY, timeMs: 10_000 },
  key: { maxBytes: Number.POSITIVE_INFINITY, timeMs: 60_000 },
};

interface Reserved {
  pool: MemoryPool | UnprovenMemory;
  /** As the pool counts them. */
  bytes: number;
}

export class ReservedMemory implements RequestMemory {
  readonly #budget: MemoryPools;
  readonly #readClient: () => string;
  readonly #readNetwork: () => string;
  readonly #readAnswered: () => boolean;
  readonly #reserved: Reserved[] = [];
  #giveWay: (() => void) | undefined;
  #proof: Proof | undefined;
  #holders: readonly Holder[] | undefined;
  #pending: PendingReservation | undefined;
  #isClosed = false;
  #works = 0;

  /** @param readAnswered whether the response is complete, though its caller may not have read it. */
  constructor(
    budget: MemoryPools,
    readClient: () => string,
    readNetwork: () => string,
    readAnswered: () => boolean = () => false,
  ) {
    this.#budget = budget;
    this.#readClient = readClient;
    this.#readNetwork = readNetwork;
    this.#readAnswered = readAnswered;
  }

  get isAnswered(): boolean {
    return this.#readAnswered();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isProven(): boolean {
    return this.#proof?.kind === "key";
  }

  get allowance(): BodyAllowance {
    return ALLOWANCES[this.#proof?.kind ?? "nothing"];
  }

  get bodyBytes(): number {
    return this.#reserved.reduce((sum, { bytes }) => sum + bytes, 0) / MEMORY_PER_BODY_BYTE;
  }

  prove(proof: Proof): void {
    const before = this.#holders;
    this.#proof = proof;
    this.#holders = undefined;
    // A URL that the vault issued proves nothing of its sender: its steps stay with the network.
    if (proof.kind === "key") presentCaller()?.prove(proof.tenantId, proof.party);
    if (!before || this.#isClosed) return;
    const after = this.#heldBy();
    for (const reserved of this.#reserved) {
      const { pool, bytes } = reserved;
      if (pool instanceof MemoryPool) {
        pool.move(before, after, bytes);
        continue;
      }
      pool.release(before, bytes);
      pool.forgets(this);
      reserved.pool = this.#budget.small;
      this.#budget.small.take(after, bytes);
    }
  }

  arrives(giveWay: () => void): () => void {
    const unproven = this.#unprovenMemory();
    if (!unproven) return () => {};
    this.#giveWay = giveWay;
    return unproven.arrives(this.#heldBy(), this);
  }

  /** Its body makes room for another one. */
  giveWay(): void {
    this.release();
    this.#giveWay?.();
  }

  /** Releases what it holds, and goes on. */
  release(): void {
    for (const reserved of this.#reserved) {
      const { pool, bytes } = reserved;
      reserved.bytes = 0;
      pool.release(this.#heldBy(), bytes);
      if (!(pool instanceof MemoryPool)) pool.forgets(this);
    }
  }

  reserve(bodyBytes: number): Reservation | Promise<Reservation> {
    if (this.#unprovenMemory()) return this.reserveNow(bodyBytes);
    if (this.#isClosed) return NO_RESERVATION;
    const { pool, bytes } = this.#provenPoolFor(bodyBytes);
    const reservation = pool.reserve(this.#heldBy(), bytes);
    return reservation === true ? this.#keep(pool, bytes) : this.#keepOnceGranted(reservation, pool, bytes);
  }

  async #keepOnceGranted(reservation: PendingReservation, pool: MemoryPool, bytes: number): Promise<Reservation> {
    await this.#granted(reservation);
    if (!this.#isClosed) return this.#keep(pool, bytes);
    // The reservation may have been granted in the turn in which the caller disconnected.
    pool.release(this.#heldBy(), bytes);
    return NO_RESERVATION;
  }

  reserveNow(bodyBytes: number): Reservation {
    if (this.#isClosed) return NO_RESERVATION;
    const { pool, bytes } = this.#poolFor(bodyBytes);
    if (!pool.tryReserve(this.#heldBy(), bytes)) throw memoryRefused("no_memory");
    return this.#keep(pool, bytes);
  }

  async reserveRead(storedBytes: number): Promise<Reservation> {
    const { large } = this.#budget;
    if (this.#reserved.some(({ pool, bytes }) => pool === large && bytes > 0)) throw memoryRefused("no_memory");
    const reservation = await this.reserve(this.#bodyBytesToRead(storedBytes));
    this.#requireCaller();
    return reservation;
  }

  reserveReadNow(storedBytes: number): Reservation | undefined {
    this.#requireCaller();
    const { pool, bytes } = this.#provenPoolFor(this.#bodyBytesToRead(storedBytes));
    return pool.tryReserve(this.#heldBy(), bytes) ? this.#keep(pool, bytes) : undefined;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#works += 1;
    try {
      return await work();
    } finally {
      this.#works -= 1;
      if (this.#isClosed) this.#releaseUnused();
    }
  }

  /**
   * Releases everything once no work uses it: callers that leave while their requests run would otherwise make room for
   * ever more of them. Later reservations are not counted, because the request has no response to send.
   */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pending?.cancel();
    this.#releaseUnused();
  }

  #releaseUnused(): void {
    if (this.#works === 0) this.release();
  }

  #keep(pool: Reserved["pool"], reservedBytes: number): Reservation {
    const counted = (bytes: number) => (pool instanceof MemoryPool ? bytes : pool.counted(bytes));
    const kept: Reserved = { pool, bytes: counted(reservedBytes) };
    this.#reserved.push(kept);
    if (!(pool instanceof MemoryPool)) pool.keeps(this);
    return {
      shrink: (bodyBytes) => {
        const excess = kept.bytes - counted(MEMORY_PER_BODY_BYTE * bodyBytes);
        if (excess <= 0) return;
        kept.bytes -= excess;
        kept.pool.release(this.#heldBy(), excess);
        // A stream reserves again and again.
        if (kept.bytes === 0 && kept.pool instanceof MemoryPool) this.#reserved.splice(this.#reserved.indexOf(kept), 1);
      },
    };
  }

  async #granted(reservation: PendingReservation): Promise<void> {
    this.#pending = reservation;
    const isGranted = await reservation.granted;
    this.#pending = undefined;
    if (!isGranted) throw memoryRefused("waited_too_long");
  }

  /** No caller would get what is read, and its memory would not be counted. */
  #requireCaller(): void {
    if (this.#isClosed) throw new Fault("unavailable", "The caller has disconnected.");
  }

  /** A value that was stored under a higher limit counts as the largest that there is memory for. */
  #bodyBytesToRead(storedBytes: number): number {
    const largest = this.#budget.large.size / LARGEST_READ_SHARE / MEMORY_PER_BODY_BYTE;
    return Math.min(BODY_BYTES_FOR_STORED * storedBytes, largest);
  }

  /** Undefined for a caller that has proved something. */
  #unprovenMemory(): UnprovenMemory | undefined {
    if (!this.#proof) return this.#budget.unproven;
    return this.#proof.kind === "sign_in" ? this.#budget.signIn : undefined;
  }

  #poolFor(bodyBytes: number): { readonly pool: Reserved["pool"]; readonly bytes: number } {
    const unproven = this.#unprovenMemory();
    return unproven ? { pool: unproven, bytes: MEMORY_PER_BODY_BYTE * bodyBytes } : this.#provenPoolFor(bodyBytes);
  }

  #provenPoolFor(bodyBytes: number) {
    const pool = bodyBytes <= SMALL_BODY_BYTES ? this.#budget.small : this.#budget.large;
    return { pool, bytes: MEMORY_PER_BODY_BYTE * bodyBytes };
  }

  #heldBy(): readonly Holder[] {
    this.#holders ??= this.#readHolders();
    return this.#holders;
  }

  #readHolders(): readonly Holder[] {
    const proof = this.#proof;
    if (!proof || proof.kind === "sign_in") return [{ name: this.#readNetwork(), share: 1, mayStart: true }];
    return memoryHolders(this.#readClient(), proof);
  }
}
