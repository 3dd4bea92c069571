import type { Clock } from "../../base/clock.js";
import { compactUuid } from "../../base/compact-uuid.js";
import type { TenantId, Uuid } from "../../base/ids.js";
import type { Tenants } from "../../tenancy/tenants.js";
import { decodeSignedPath, isAuthenticPath, type SignedPath } from "../signed-path.js";
import { approved, type SimulatedPayment } from "./ledger.js";
import type { SendWebhook } from "./simulator.js";
import type { SimulatorStore } from "./simulator-store.js";

export const CHOICES = ["approve", "fail", "cancel"] as const;
/** A buyer's options at the simulated bank. */
export type Choice = (typeof CHOICES)[number];

export interface ApprovalView {
  readonly amount: number;
  readonly currency: string;
  /** The buyer can still decide. */
  readonly isOpen: boolean;
  readonly returnUrl: string;
}

export class SimulatedApprovals {
  readonly #store: SimulatorStore;
  readonly #tenants: Tenants;
  readonly #clock: Clock;
  readonly #sendWebhook: SendWebhook;

  constructor(store: SimulatorStore, tenants: Tenants, clock: Clock, sendWebhook: SendWebhook) {
    this.#store = store;
    this.#tenants = tenants;
    this.#clock = clock;
    this.#sendWebhook = sendWebhook;
  }

  /** Undefined for an address that we did not create. */
  async get(address: string): Promise<ApprovalView | undefined> {
    const found = await this.#authenticated(address);
    const payment = found && (await this.#store.find(found.tenantId, compactUuid(found.id)));
    return payment && this.#view(payment);
  }

  /** Stores the buyer's decision, once. Returns what the bank shows after it. */
  async decide(address: string, choice: Choice): Promise<ApprovalView | undefined> {
    const found = await this.#authenticated(address);
    const payment =
      found &&
      (await this.#store.change(found.tenantId, compactUuid(found.id), (current) => this.#after(current, choice)));
    // The buyer may close the page instead of going back.
    if (found && payment) this.#sendWebhook(found.tenantId, { reference: compactUuid(found.id) });
    return payment && this.#view(payment);
  }

  #after(payment: SimulatedPayment, choice: Choice): SimulatedPayment | undefined {
    if (!payment.approval || !this.#isOpen(payment)) return undefined;
    switch (choice) {
      case "approve":
        return payment.approval.declinesAnyway
          ? { ...payment, bankState: "declined", errorCode: "issuer_decline", responseCode: "05", threeDS: "challenge" }
          : approved({ ...payment, threeDS: "challenge" }, payment.approval.key, this.#clock.now());
      case "fail":
        return {
          ...payment,
          bankState: "declined",
          errorCode: "failed_buyer_approval",
          responseCode: "05",
          threeDS: "declined",
        };
      case "cancel":
        return {
          ...payment,
          bankState: "declined",
          errorCode: "cancelled_buyer_approval",
          responseCode: "05",
          threeDS: "cancelled",
        };
    }
  }

  #isOpen({ bankState, approval }: SimulatedPayment): boolean {
    if (bankState !== "awaiting_buyer" || !approval) return false;
    const isOver = approval.expiresAt <= this.#clock.now();
    return approval.approvesLate ? isOver : !isOver;
  }

  #view(payment: SimulatedPayment): ApprovalView {
    const { amount, currency, approval } = payment;
    return { amount, currency, isOpen: this.#isOpen(payment), returnUrl: approval?.returnUrl ?? "" };
  }

  async #authenticated(address: string): Promise<{ readonly tenantId: TenantId; readonly id: Uuid } | undefined> {
    const presented: SignedPath | undefined = decodeSignedPath(address);
    if (!presented) return undefined;
    const tenant = await this.#tenants.find(presented.tenantId);
    return tenant && isAuthenticPath(tenant.keys, "simulator-approval", presented) ? presented : undefined;
  }
}
