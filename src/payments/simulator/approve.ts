import type { Clock } from "../../base/clock.js";
import type { TenantId, Uuid } from "../../base/ids.js";
import type { Keyring } from "../../tenancy/keyring.js";
import { base62Of, decodeSignedPath, isAuthenticAddress, type SignedPath } from "../signed-path.js";
import { approved, type SimulatedPayment } from "./ledger.js";
import type { SendWebhook } from "./simulator.js";
import type { SimulatorStore } from "./simulator-store.js";

export const CHOICES = ["approve", "fail", "cancel"] as const;
/** A buyer's options at the simulated bank. */
export type Choice = (typeof CHOICES)[number];

/** The simulated bank's page for a buyer. */
export interface ApprovalView {
  readonly amount: number;
  readonly currency: string;
  /** The buyer can still decide. */
  readonly isOpen: boolean;
  readonly returnUrl: string;
}

/** The simulated bank's approvals by buyers. */
export class SimulatedApprovals {
  readonly #books: SimulatorStore;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #sendWebhook: SendWebhook;

  constructor(books: SimulatorStore, keyring: Keyring, clock: Clock, sendWebhook: SendWebhook) {
    this.#books = books;
    this.#keyring = keyring;
    this.#clock = clock;
    this.#sendWebhook = sendWebhook;
  }

  /** Undefined for an address that we did not create. */
  async look(address: string): Promise<ApprovalView | undefined> {
    const found = await this.#genuine(address);
    const page = found && (await this.#books.find(found.tenantId, base62Of(found.id)));
    return page && this.#view(page);
  }

  /** Stores the buyer's decision, once. Returns the page after it. */
  async decide(address: string, choice: Choice): Promise<ApprovalView | undefined> {
    const found = await this.#genuine(address);
    const page =
      found &&
      (await this.#books.change(found.tenantId, base62Of(found.id), (current) => this.#after(current, choice)));
    // The buyer may close the page instead of going back.
    if (found && page) this.#sendWebhook(found.tenantId, { reference: base62Of(found.id) });
    return page && this.#view(page);
  }

  #after(page: SimulatedPayment, choice: Choice): SimulatedPayment | undefined {
    if (!page.approval || !this.#isOpen(page)) return undefined;
    switch (choice) {
      case "approve":
        return page.approval.declinesAnyway
          ? { ...page, stand: "declined", errorCode: "issuer_decline", responseCode: "05", threeDS: "challenge" }
          : approved({ ...page, threeDS: "challenge" }, page.approval.key, this.#clock.now());
      case "fail":
        return {
          ...page,
          stand: "declined",
          errorCode: "failed_buyer_approval",
          responseCode: "05",
          threeDS: "declined",
        };
      case "cancel":
        return {
          ...page,
          stand: "declined",
          errorCode: "cancelled_buyer_approval",
          responseCode: "05",
          threeDS: "cancelled",
        };
    }
  }

  #isOpen({ stand, approval }: SimulatedPayment): boolean {
    if (stand !== "awaiting_buyer" || !approval) return false;
    const isOver = approval.expiresAt <= this.#clock.now();
    return approval.approvesLate ? isOver : !isOver;
  }

  #view(page: SimulatedPayment): ApprovalView {
    const { amount, currency, approval } = page;
    return { amount, currency, isOpen: this.#isOpen(page), returnUrl: approval?.returnUrl ?? "" };
  }

  async #genuine(address: string): Promise<{ readonly tenantId: TenantId; readonly id: Uuid } | undefined> {
    const presented: SignedPath | undefined = decodeSignedPath(address);
    if (!presented) return undefined;
    const keys = await this.#keyring.of(presented.tenantId).catch(() => undefined);
    return keys && isAuthenticAddress(keys, "simulator-approval", presented) ? presented : undefined;
  }
}
