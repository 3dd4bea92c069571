import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { readConnection } from "../store/connections.js";
import { findPaymentByProvider, readPayment } from "../store/payments.js";
import { listRefundRows } from "../store/refunds.js";
import { type AddressKind, isGenuine, readAddress, uuidFrom } from "./addresses.js";
import { applyFollowUp, applyStanding } from "./apply.js";
import { type Connection, connectionOf, openConnection } from "./connection.js";
import { mayBeUnderWay } from "./ended-operations.js";
import { afterLookUp, lookUp } from "./look-up.js";
import type { LookUpOutcome } from "./outcome.js";
import { openPayment, type Payment, referenceOf } from "./payment.js";
import { type Change, changePayment } from "./payment-changes.js";
import type { ReconcileParts } from "./reconcile.js";
import { openRefund, type Refund } from "./refund.js";
import { afterRefund, refundNamed, withOneMoreLook } from "./refund-reports.js";
import { accountMark, believable } from "./sent-with.js";
import type { WebhookDelivery, WebhookEvent } from "./webhook.js";

/** What became of a request at a webhook address. */
export type WebhookEnd =
  | { readonly kind: "receipt"; readonly text: string }
  | { readonly kind: "unverified" }
  | { readonly kind: "malformed" }
  /** How the payment stands could not be asked just now: the service is to send it again. */
  | { readonly kind: "later" };

/** Where a webhook's address leads. */
export interface WebhookEndpoint {
  readonly tenantId: TenantId;
  readonly keys: TenantKeys;
  readonly connection: Connection;
}

/** What comes to us from payment services and from buyers. None of it is believed without a proof. */
export class Incoming {
  readonly #parts: ReconcileParts;

  constructor(parts: ReconcileParts) {
    this.#parts = parts;
  }

  /**
   * Finds the connection that an address was made for. Undefined for any other address, or when the connection is gone: what is
   * sent there does not have to be read.
   */
  async endpoint(address: string): Promise<WebhookEndpoint | undefined> {
    const found = await this.#genuine(address, "payment-webhook");
    if (!found) return undefined;
    const { tenantId, id, keys } = found;
    const row = await this.#connectionRow(tenantId, id);
    return row ? { tenantId, keys, connection: openConnection(keys, tenantId, row) } : undefined;
  }

  /** Takes a webhook. Repeated, late and out-of-order events change nothing: only legal steps are taken. */
  async webhook({ tenantId, keys, connection }: WebhookEndpoint, delivery: WebhookDelivery): Promise<WebhookEnd> {
    const { connectors } = this.#parts;
    const reading = connectors
      .of(connection.formula.id)
      .readWebhook(connectors.contextOf(tenantId, connection), delivery);
    if (reading.kind !== "verified") return { kind: reading.kind };
    let isTaken = true;
    for (const event of reading.events) {
      isTaken = (await this.#apply(tenantId, keys, connection, event)) && isTaken;
    }
    return isTaken ? { kind: "receipt", text: reading.receipt ?? "" } : { kind: "later" };
  }

  /**
   * A buyer came back. What the query says proves nothing: the payment service is asked. A payment that has failed by then
   * may have been approved since: that is looked up, and not finished.
   */
  async approval(address: string, query: URLSearchParams): Promise<Payment | undefined> {
    const found = await this.#genuine(address, "payment-return");
    if (!found) return undefined;
    const { tenantId, id, keys } = found;
    const payment = await this.#payment(tenantId, keys, id);
    const isOver = payment?.status === "authorization_failed";
    if (payment?.status !== "buyer_approval_pending" && !isOver) return payment;
    const connection = connectionOf(keys, tenantId, await this.#connectionRow(tenantId, payment.connectionId), payment);
    if (!connection) return payment;
    const { connectors } = this.#parts;
    const outcome = isOver
      ? await lookUp(this.#parts, tenantId, payment, connection)
      : await connectors
          .of(connection.formula.id)
          .finishApproval(connectors.contextOf(tenantId, connection), { payment: referenceOf(payment), query });
    const believed = believable(payment, accountMark(keys, connection), outcome);
    return (await this.#learn(tenantId, keys, id, believed)) ?? payment;
  }

  /** Answers whether all that the event tells of is known now. */
  async #apply(tenantId: TenantId, keys: TenantKeys, connection: Connection, event: WebhookEvent): Promise<boolean> {
    const payment = await this.#paymentOf(tenantId, keys, connection.id, event);
    // An account's webhooks tell of payments that are not ours, too, and the service may be another one by now.
    if (payment?.connection.formulaId !== connection.formula.id) return true;
    const { report } = event;
    if (report.kind === "changed" || !(await this.#isOurs(tenantId, keys, payment.id, report))) {
      const outcome = await lookUp(this.#parts, tenantId, payment, connection);
      await this.#learn(tenantId, keys, payment.id, outcome);
      return outcome.kind !== "unknown";
    }
    await changePayment(this.#parts.database, keys, tenantId, payment.id, (current, now, refunds) =>
      heard(afterReport(current, report, now.getTime(), refunds)),
    );
    return true;
  }

  /** Refunds may be made at the service itself, too: of those only how the payment stands is of interest. */
  async #isOurs(tenantId: TenantId, keys: TenantKeys, id: Uuid, report: Told): Promise<boolean> {
    if (report.kind !== "refund") return true;
    const rows = await this.#parts.database.fast.run(tenantId, "unguarded", (tx) => tx.query(listRefundRows, id));
    const refunds = rows.map((row) => openRefund(keys, tenantId, row));
    return refundNamed(refunds, report) !== undefined;
  }

  #learn(tenantId: TenantId, keys: TenantKeys, id: Uuid, outcome: LookUpOutcome): Promise<Payment | undefined> {
    return changePayment(this.#parts.database, keys, tenantId, id, (current, now, refunds) =>
      heard(afterLookUp(current, outcome, now.getTime(), refunds)),
    );
  }

  async #paymentOf(
    tenantId: TenantId,
    keys: TenantKeys,
    connectionId: Uuid,
    { payment: { reconciliationId, providerId } }: WebhookEvent,
  ): Promise<Payment | undefined> {
    const named = reconciliationId === undefined ? undefined : uuidFrom(reconciliationId);
    const found = named ? await this.#payment(tenantId, keys, named) : undefined;
    if (found) return found.connectionId === connectionId ? found : undefined;
    if (providerId === undefined) return undefined;
    const id = await this.#parts.database.fast.run(tenantId, "unguarded", (tx) =>
      tx.query(findPaymentByProvider, { connectionId, providerId }),
    );
    return id ? this.#payment(tenantId, keys, id) : undefined;
  }

  async #payment(tenantId: TenantId, keys: TenantKeys, id: Uuid): Promise<Payment | undefined> {
    const row = await this.#parts.database.fast.run(tenantId, "unguarded", (tx) => tx.query(readPayment, id));
    return row ? openPayment(keys, tenantId, row) : undefined;
  }

  #connectionRow(tenantId: TenantId, id: Uuid) {
    return this.#parts.database.fast.run(tenantId, "unguarded", (tx) => tx.query(readConnection, id));
  }

  async #genuine(address: string, kind: AddressKind) {
    const presented = readAddress(address);
    if (!presented) return undefined;
    const keys = await this.#parts.keyring.of(presented.tenantId).catch(() => undefined);
    return keys && isGenuine(keys, kind, presented) ? { ...presented, keys } : undefined;
  }
}

/** Somebody else may be at work on the payment just now, and stays so. */
function heard(change: Change): Change {
  return { ...change, goesOn: true };
}

/** What a webhook says itself, so that nobody has to be asked. */
type Told = Exclude<WebhookEvent["report"], { kind: "changed" }>;

/** A capture or void is ended by its report only while it is the one under way; a refund by the one that names it. */
export function afterReport(current: Payment, report: Told, now: number, refunds: readonly Refund[]): Change {
  const { attempt } = current;
  switch (report.kind) {
    case "payment":
      return applyStanding(current, report.standing, now);
    case "capture":
    case "void": {
      const { kind: operation, outcome, providerId } = report;
      // What is planned and not sent yet nobody can have refused.
      const isPlanned = attempt?.state === "sent" && attempt.account === undefined && outcome.kind === "refused";
      const isUnderWay = attempt?.operation === operation && !isPlanned && mayBeUnderWay(current, providerId);
      const amount = isUnderWay ? attempt.amount : current.authorizedAmount;
      const key = isUnderWay ? attempt.key : undefined;
      return applyFollowUp(current, { operation, amount, key, providerId }, outcome, now);
    }
    case "refund": {
      const refund = refundNamed(refunds, report);
      return refund
        ? withOneMoreLook(current, afterRefund(current, refund, report.outcome, now), now)
        : { payment: current, moved: false, approved: false };
    }
  }
}
