import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";
import { type ErrorCode, isErrorCode } from "../error-code.js";
import type { CvvCode } from "../outcome.js";
import type { Intent } from "../payment-request.js";
import type { LaterFault } from "./rules.js";

/** Money as it moved, or was held or let go. The same key never stands there twice. */
export interface Entry {
  readonly kind: "authorization" | "capture" | "void" | "refund";
  readonly key: string;
  readonly amount: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Of a refund: ours and the simulator's. */
  readonly reference?: string;
}

/** How the simulated bank sees a payment, beside what its entries say. */
export type Stand =
  /** The request was lost on its way in: asked about it, the bank knows nothing. */
  "lost" | "approved" | "awaiting_buyer" | "declined" | "failed";

/** One payment in the simulator's books. Holds no card. */
export interface Page {
  readonly stand: Stand;
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
        /** Of the authorization that an approval makes. */
        readonly key: string;
        readonly expiresAt: number;
        readonly declinesAnyway: boolean;
        readonly approvesLate: boolean;
      }
    | undefined;
  readonly entries: readonly Entry[];
}

/** The page with money held, and taken if that is wanted, under the key of the authorization. */
export function approved(page: Page, key: string, now: number): Page {
  const amount = page.approvesHalf ? Math.floor(page.amount / 2) : page.amount;
  const held: Entry = { kind: "authorization", key, amount, at: now };
  const taken: Entry = { kind: "capture", key: `${key}-capture`, amount, at: now };
  return { ...page, stand: "approved", entries: page.intent === "capture" ? [held, taken] : [held] };
}

export function entryOf({ entries }: Page, kind: Entry["kind"]): Entry | undefined {
  return entries.find((entry) => entry.kind === kind);
}

export function totalOf({ entries }: Page, kind: Entry["kind"]): number {
  return entries.filter((entry) => entry.kind === kind).reduce((sum, { amount }) => sum + amount, 0);
}

export function writePage(page: Page): JsonObject {
  const written: Json = JSON.parse(JSON.stringify(page));
  if (!isJsonObject(written)) throw new Error("a page of the simulator is no object");
  return written;
}

/** @throws {Error} for what {@link writePage} did not write. */
export function readPage(ledger: JsonObject): Page {
  const page: Page = JSON.parse(JSON.stringify(ledger));
  if (page.errorCode !== undefined && !isErrorCode(page.errorCode))
    throw new Error("a page of the simulator is damaged");
  return page;
}
