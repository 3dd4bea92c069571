import { Fault } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { memoryRefused } from "./body-fault.js";
import { BODY_BYTES_FOR_STORED, BYTES_FOR_EACH, SMALL_BODY_BYTES } from "./body-sizes.js";
import type { Holder, MemoryPool, MemoryPools, PendingReservation } from "./memory-pool.js";

/** How a caller is identified. */
export type Proof =
  | {
      readonly kind: "key";
      readonly tenantId: TenantId;
      readonly applicationId: Uuid;
      readonly sessionId: Uuid | undefined;
    }
  /**
   * By a URL or link that the vault issued, which identifies its owner but not the caller. `name` identifies its
   * target.
   */
  | { readonly kind: "address"; readonly tenantId: TenantId; readonly name: string };

/** The memory for bodies and large stored values that one request may use. */
export interface RequestMemory {
  /** The request is answered, or its caller disconnected. */
  readonly isClosed: boolean;
  /** Limits of a body, by what is known of its sender. */
  readonly allowance: BodyAllowance;
  /** Bytes of all bodies that it has memory for: a measure of the work that each of its steps is. */
  readonly bodyBytes: number;
  /** Records the caller's identity. Existing reservations now count towards its own share. */
  prove(proof: Proof): void;
  /**
   * Reserves memory for a body of `bodyBytes`. An authenticated caller waits for its share; a promise is returned only
   * then.
   * @throws {BodyFault} no_memory or waited_too_long.
   */
  reserve(bodyBytes: number): Reservation | Promise<Reservation>;
  /** The same without waiting. @throws {BodyFault} no_memory. */
  reserveNow(bodyBytes: number): Reservation;
  /**
   * Reserves memory for stored values of so many bytes. A request with a large body does not wait, because it holds
   * memory that others wait for.
   * @throws {BodyFault} no_memory or waited_too_long; {Fault} unavailable if the caller disconnects meanwhile.
   */
  reserveRead(storedBytes: number): Promise<Reservation>;
  /** The same without waiting. Undefined if the caller's share is in use. @throws {Fault} unavailable without a caller. */
  reserveReadNow(storedBytes: number): Reservation | undefined;
}

/** Memory that a request holds for one of its bodies, until the request ends. */
export interface Reservation {
  /** Releases what a body of `bodyBytes` does not need. Never grows. */
  shrink(bodyBytes: number): void;
}

/** One request reads stored values within this part of the memory for large bodies: those of two of the largest. */
const LARGEST_READ_SHARE = 4;

const NO_RESERVATION: Reservation = { shrink: () => {} };

export interface BodyAllowance {
  readonly maxBytes: number;
  /** Time limit for the whole body, in milliseconds. */
  readonly timeMs: number;
}

/** By kind of proof. Node itself ends a request that takes more than 60 s to arrive. */
const ALLOWANCES: Readonly<Record<Proof["kind"] | "nothing", BodyAllowance>> = {
  nothing: { maxBytes: 64 * 1024, timeMs: 5_000 },
  address: { maxBytes: Number.POSITIVE_INFINITY, timeMs: 10_000 },
  key: { maxBytes: Number.POSITIVE_INFINITY, timeMs: 60_000 },
};

/** One request's reservations in the memory budget. */
export class ReservedMemory implements RequestMemory {
  readonly #budget: MemoryPools;
  readonly #readClient: () => string;
  readonly #reserved: { readonly pool: MemoryPool; bytes: number }[] = [];
  #proof: Proof | undefined;
  #holders: readonly Holder[] | undefined;
  #pending: PendingReservation | undefined;
  #isClosed = false;

  constructor(budget: MemoryPools, readClient: () => string) {
    this.#budget = budget;
    this.#readClient = readClient;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get allowance(): BodyAllowance {
    return ALLOWANCES[this.#proof?.kind ?? "nothing"];
  }

  get bodyBytes(): number {
    return this.#reserved.reduce((sum, { bytes }) => sum + bytes, 0) / BYTES_FOR_EACH;
  }

  prove(proof: Proof): void {
    const before = this.#holders;
    this.#proof = proof;
    this.#holders = undefined;
    if (before) for (const { pool, bytes } of this.#reserved) pool.move(before, this.#heldBy(), bytes);
  }

  reserve(bodyBytes: number): Reservation | Promise<Reservation> {
    if (!this.#proof) return this.reserveNow(bodyBytes);
    if (this.#isClosed) return NO_RESERVATION;
    const { pool, bytes } = this.#placeFor(bodyBytes);
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
    const { pool, bytes } = this.#placeFor(bodyBytes);
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
    const { pool, bytes } = this.#placeFor(this.#bodyBytesToRead(storedBytes));
    return pool.tryReserve(this.#heldBy(), bytes) ? this.#keep(pool, bytes) : undefined;
  }

  /** Releases everything. Later reservations are not counted, because the request has no response to send. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pending?.cancel();
    for (const { pool, bytes } of this.#reserved) pool.release(this.#heldBy(), bytes);
  }

  #keep(pool: MemoryPool, bytes: number): Reservation {
    const kept = { pool, bytes };
    this.#reserved.push(kept);
    return {
      shrink: (bodyBytes) => {
        const excess = kept.bytes - BYTES_FOR_EACH * bodyBytes;
        if (this.#isClosed || excess <= 0) return;
        kept.bytes -= excess;
        pool.release(this.#heldBy(), excess);
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
    const largest = this.#budget.large.size / LARGEST_READ_SHARE / BYTES_FOR_EACH;
    return Math.min(BODY_BYTES_FOR_STORED * storedBytes, largest);
  }

  #placeFor(bodyBytes: number) {
    const pool = bodyBytes <= SMALL_BODY_BYTES ? this.#budget.small : this.#budget.large;
    return { pool, bytes: BYTES_FOR_EACH * bodyBytes };
  }

  #heldBy(): readonly Holder[] {
    this.#holders ??= holdersOf(this.#readClient(), this.#proof);
    return this.#holders;
  }
}

/** From the widest to the most specific holder; requests queue by the latter. */
function holdersOf(client: string, proof: Proof | undefined): readonly Holder[] {
  const address = { name: `client ${client}`, share: 1, mayStart: true };
  if (!proof) {
    return [
      { name: "unproven", share: 1 / 8, mayStart: false },
      { ...address, share: 1 / 32 },
    ];
  }
  const tenant = { name: `tenant ${proof.tenantId}`, share: 1, mayStart: false };
  if (proof.kind === "address") {
    return [address, tenant, { name: `address ${proof.name}`, share: 1 / 8, mayStart: true }];
  }
  const application = { name: `application ${proof.applicationId}`, share: 1 / 2, mayStart: true };
  if (proof.sessionId === undefined) return [address, tenant, application];
  return [address, tenant, application, { name: `session ${proof.sessionId}`, share: 1 / 4, mayStart: true }];
}
