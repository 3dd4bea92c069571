import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";
import { type ErrorCode, isErrorCode } from "../contract/error-code.js";
import type { CvvCode } from "../contract/outcome.js";
import type { Intent } from "../contract/payment-request.js";
import type { LaterFault } from "./rules.js";

/** A movement, hold or release of money. A key appears at most once. */
export interface Entry {
  readonly kind: "authorization" | "capture" | "void" | "refund";
  readonly key: string;
  readonly amount: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Only for a refund: our reference and the simulator's. */
  readonly reference?: string;
}

/** The simulated bank's state of a payment, besides its entries. */
export type BankState =
  /** The request was lost on its way to the bank: a look-up finds nothing. */
  "lost" | "approved" | "awaiting_buyer" | "declined" | "failed";

export interface SimulatedPayment {
  readonly bankState: BankState;
  readonly amount: number;
  readonly currency: string;
  readonly intent: Intent;
  readonly errorCode: ErrorCode | undefined;
  readonly responseCode: string;
  readonly cvv: CvvCode;
  readonly schemeTransactionId: string;
  readonly threeDS: "none" | "challenge" | "frictionless" | "setup_error" | "declined" | "cancelled";
  readonly later: LaterFault | undefined;
  readonly approvesHalf: boolean;
  /** Milliseconds that a capture or void takes. */
  readonly captureMs: number;
  readonly voidMs: number;
  readonly approval:
    | {
        readonly returnUrl: string;
        /** Key of the authorization after an approval. */
        readonly key: string;
        readonly expiresAt: number;
        readonly declinesAnyway: boolean;
        readonly approvesLate: boolean;
      }
    | undefined;
  readonly entries: readonly Entry[];
}

/** The payment with its money held, and captured if the intent is a sale, under the authorization's key. */
export function approved(payment: SimulatedPayment, key: string, now: number): SimulatedPayment {
  const amount = payment.approvesHalf ? Math.floor(payment.amount / 2) : payment.amount;
  const held: Entry = { kind: "authorization", key, amount, at: now };
  const taken: Entry = { kind: "capture", key: `${key}-capture`, amount, at: now };
  return { ...payment, bankState: "approved", entries: payment.intent === "capture" ? [held, taken] : [held] };
}

export function findEntry({ entries }: SimulatedPayment, kind: Entry["kind"]): Entry | undefined {
  return entries.find((entry) => entry.kind === kind);
}

export function sumEntries({ entries }: SimulatedPayment, kind: Entry["kind"]): number {
  return entries.filter((entry) => entry.kind === kind).reduce((sum, { amount }) => sum + amount, 0);
}

/** The bank's state is stored as `stand`. */
type Ledger = Omit<SimulatedPayment, "bankState"> & { readonly stand: BankState };

export function encodeLedger({ bankState, ...payment }: SimulatedPayment): JsonObject {
  const ledger: Ledger = { ...payment, stand: bankState };
  const written: Json = JSON.parse(JSON.stringify(ledger));
  if (!isJsonObject(written)) throw new Error("a ledger of the simulator is not an object");
  return written;
}

/** @throws {Error} for a ledger that {@link encodeLedger} did not write. */
export function decodeLedger(written: JsonObject): SimulatedPayment {
  const { stand, ...payment }: Ledger = JSON.parse(JSON.stringify(written));
  if (payment.errorCode !== undefined && !isErrorCode(payment.errorCode))
    throw new Error("a ledger of the simulator is damaged");
  return { ...payment, bankState: stand };
}
