import type { Party } from "../base/caller-turns.js";
import type { TenantId, Uuid } from "../base/ids.js";

/** How a caller is identified. */
export type Proof =
  /** Not at all, but the request is one of a sign-in, which has memory of its own. */
  | { readonly kind: "sign_in" }
  | {
      readonly kind: "key";
      readonly tenantId: TenantId;
      readonly applicationId: Uuid;
      readonly sessionId: Uuid | undefined;
      readonly party: Party;
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
  readonly allowance: BodyAllowance;
  /**
   * A body begins to arrive: until the returned function is called, one of an unproven caller may be refused to make room.
   * Absent: it never is.
   */
  arrives?(giveWay: () => void): () => void;
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
  /** Runs work of the request. What it holds stays counted until the work ends, although its caller disconnects. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** Memory that a request holds for one of its bodies, until the request ends. */
export interface Reservation {
  /** Releases what a body of `bodyBytes` does not need. Never grows. */
  shrink(bodyBytes: number): void;
}

export interface BodyAllowance {
  readonly maxBytes: number;
  /** Time limit for the whole body, in milliseconds. */
  readonly timeMs: number;
}
