import { expandUuid } from "../base/compact-uuid.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { readConnection } from "../store/payments/connections.js";
import { findPaymentByProvider, readPayment } from "../store/payments/payments.js";
import { listRefundRows } from "../store/payments/refunds.js";
import { accountFingerprint, trustedLookUp } from "./account-fingerprint.js";
import { applyFollowUp, applyState } from "./apply.js";
import { type Connection, connectionOf, openConnection } from "./connection.js";
import { matchesPendingOperation } from "./ended-operations.js";
import { applyLookUp, lookUp } from "./look-up.js";
import type { LookUpOutcome } from "./outcome.js";
import { openPayment, type Payment, referenceOf } from "./payment.js";
import { type Change, changePayment } from "./payment-changes.js";
import type { ReconcileParts } from "./reconcile.js";
import { openRefund, type Refund } from "./refund.js";
import { applyRefund, refundNamed, withAnotherLookUp } from "./refund-reports.js";
import { decodeSignedPath, isAuthenticPath, type SignedPathKind } from "./signed-path.js";
import type { WebhookDelivery, WebhookEvent } from "./webhook.js";

/** The result of a request to a webhook address. */
export type WebhookEnd =
  | { readonly kind: "receipt"; readonly text: string }
  | { readonly kind: "unverified" }
  | { readonly kind: "malformed" }
  /** The payment's state could not be looked up: the service must send the webhook again. */
  | { readonly kind: "later" };

/** The connection of a webhook's address. */
export interface WebhookEndpoint {
  readonly tenantId: TenantId;
  readonly keys: TenantKeys;
  readonly connection: Connection;
}

/** Requests from payment services and returning buyers. None is trusted without proof. */
export class InboundCallbacks {
  readonly #parts: ReconcileParts;

  constructor(parts: ReconcileParts) {
    this.#parts = parts;
  }

  /**
   * Finds the connection that an address was created for. Undefined for any other address, or if the connection is
   * deleted: the caller need not read the body then.
   */
  async endpoint(address: string): Promise<WebhookEndpoint | undefined> {
    const found = await this.#authenticated(address, "payment-webhook");
    if (!found) return undefined;
    const { tenantId, id, keys } = found;
    const row = await this.#connectionRow(tenantId, id);
    return row ? { tenantId, keys, connection: openConnection(keys, tenantId, row) } : undefined;
  }

  /** Handles a webhook. Repeated, late and out-of-order events change nothing: only legal steps are taken. */
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
   * Handles a buyer's return. The query proves nothing, so the payment service is asked. A payment that has failed by
   * now may have been approved since: it is looked up, and not finished.
   */
  async approval(address: string, query: URLSearchParams): Promise<Payment | undefined> {
    const found = await this.#authenticated(address, "payment-return");
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
    const believed = trustedLookUp(payment, accountFingerprint(keys, connection), outcome);
    return (await this.#learn(tenantId, keys, id, believed)) ?? payment;
  }

  /** Returns whether everything in the event has been applied. */
  async #apply(tenantId: TenantId, keys: TenantKeys, connection: Connection, event: WebhookEvent): Promise<boolean> {
    const payment = await this.#paymentOf(tenantId, keys, connection.id, event);
    // An account's webhooks include payments that are not ours, and the connection may lead to another service by now.
    if (payment?.connection.formulaId !== connection.formula.id) return true;
    const { report } = event;
    if (report.kind === "changed" || !(await this.#isOurs(tenantId, keys, payment.id, report))) {
      const outcome = await lookUp(this.#parts, tenantId, payment, connection);
      await this.#learn(tenantId, keys, payment.id, outcome);
      return outcome.kind !== "unknown";
    }
    await changePayment(this.#parts.database, keys, tenantId, payment.id, (current, now, refunds) =>
      keepingLease(applyReport(current, report, now.getTime(), refunds)),
    );
    return true;
  }

  /** Refunds may also be made at the service itself. For those, only the payment's state matters. */
  async #isOurs(tenantId: TenantId, keys: TenantKeys, id: Uuid, report: ReportedOutcome): Promise<boolean> {
    if (report.kind !== "refund") return true;
    const rows = await this.#parts.database.shared.run(tenantId, "unguarded", (tx) => tx.query(listRefundRows, id));
    const refunds = rows.map((row) => openRefund(keys, tenantId, row));
    return refundNamed(refunds, report) !== undefined;
  }

  #learn(tenantId: TenantId, keys: TenantKeys, id: Uuid, outcome: LookUpOutcome): Promise<Payment | undefined> {
    return changePayment(this.#parts.database, keys, tenantId, id, (current, now, refunds) =>
      keepingLease(applyLookUp(current, outcome, now.getTime(), refunds)),
    );
  }

  async #paymentOf(
    tenantId: TenantId,
    keys: TenantKeys,
    connectionId: Uuid,
    { payment: { reconciliationId, providerId } }: WebhookEvent,
  ): Promise<Payment | undefined> {
    const named = reconciliationId === undefined ? undefined : expandUuid(reconciliationId);
    const found = named ? await this.#payment(tenantId, keys, named) : undefined;
    if (found) return found.connectionId === connectionId ? found : undefined;
    if (providerId === undefined) return undefined;
    const id = await this.#parts.database.shared.run(tenantId, "unguarded", (tx) =>
      tx.query(findPaymentByProvider, { connectionId, providerId }),
    );
    return id ? this.#payment(tenantId, keys, id) : undefined;
  }

  async #payment(tenantId: TenantId, keys: TenantKeys, id: Uuid): Promise<Payment | undefined> {
    const row = await this.#parts.database.shared.run(tenantId, "unguarded", (tx) => tx.query(readPayment, id));
    return row ? openPayment(keys, tenantId, row) : undefined;
  }

  #connectionRow(tenantId: TenantId, id: Uuid) {
    return this.#parts.database.shared.run(tenantId, "unguarded", (tx) => tx.query(readConnection, id));
  }

  async #authenticated(address: string, kind: SignedPathKind) {
    const presented = decodeSignedPath(address);
    if (!presented) return undefined;
    const keys = await this.#parts.keyring.find(presented.tenantId);
    return keys && isAuthenticPath(keys, kind, presented) ? { ...presented, keys } : undefined;
  }
}

/** Keeps the lease: another process may be working on the payment. */
function keepingLease(change: Change): Change {
  return { ...change, goesOn: true };
}

/** A report that is complete in the webhook itself and needs no look-up. */
type ReportedOutcome = Exclude<WebhookEvent["report"], { kind: "changed" }>;

/**
 * Applies a report. A capture or void ends only if the report matches the one under way; a refund ends if the report
 * names it.
 */
export function applyReport(
  current: Payment,
  report: ReportedOutcome,
  now: number,
  refunds: readonly Refund[],
): Change {
  const { attempt } = current;
  switch (report.kind) {
    case "payment":
      return applyState(current, report.state, now);
    case "capture":
    case "void": {
      const { kind: operation, outcome, providerId } = report;
      // An attempt that has not been sent cannot have been refused.
      const isPlanned = attempt?.state === "sent" && attempt.account === undefined && outcome.kind === "refused";
      const isUnderWay = attempt?.operation === operation && !isPlanned && matchesPendingOperation(current, providerId);
      const amount = isUnderWay ? attempt.amount : current.authorizedAmount;
      const key = isUnderWay ? attempt.key : undefined;
      return applyFollowUp(current, { operation, amount, key, providerId }, outcome, now);
    }
    case "refund": {
      const refund = refundNamed(refunds, report);
      return refund
        ? withAnotherLookUp(current, applyRefund(current, refund, report.outcome, now), now)
        : { payment: current, moved: false, approved: false };
    }
  }
}
