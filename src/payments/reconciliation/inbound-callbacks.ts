import { expandUuid } from "../../base/compact-uuid.js";
import type { Uuid } from "../../base/ids.js";
import type { Connection } from "../connections/connection.js";
import type { LookUpOutcome } from "../contract/outcome.js";
import type { WebhookDelivery, WebhookEvent } from "../contract/webhook.js";
import { accountFingerprint, trustedLookUp } from "../lifecycle/account-fingerprint.js";
import { applyLookUp } from "../lifecycle/apply-look-up.js";
import { applyReport, type CompleteReport } from "../lifecycle/apply-report.js";
import type { Payment } from "../lifecycle/payment.js";
import { refundNamed } from "../lifecycle/refund-reports.js";
import { type Change, TenantPayments } from "../lifecycle/tenant-payments.js";
import { PaymentRun } from "../operations/payment-run.js";
import { decodeSignedPath, isAuthenticPath, type SignedPathKind } from "../signed-path.js";
import type { ReconcileParts } from "./reconcile.js";

export type WebhookEnd =
  | { readonly kind: "receipt"; readonly text: string }
  | { readonly kind: "unverified" }
  | { readonly kind: "malformed" }
  /** The payment's state could not be looked up: the service must send the webhook again. */
  | { readonly kind: "later" };

export interface WebhookEndpoint {
  readonly payments: TenantPayments;
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
    const connection = await found?.payments.findConnection(found.id);
    return found && connection ? { payments: found.payments, connection } : undefined;
  }

  /** Handles a webhook. Repeated, late and out-of-order events change nothing: only legal steps are taken. */
  async webhook({ payments, connection }: WebhookEndpoint, delivery: WebhookDelivery): Promise<WebhookEnd> {
    const { connectors } = this.#parts;
    const context = connectors.contextOf(payments.tenantId, connection);
    const reading = connectors.of(connection.formula.id).readWebhook(context, delivery);
    if (reading.kind !== "verified") return { kind: reading.kind };
    const run = new PaymentRun(this.#parts, payments, connection);
    let isApplied = true;
    for (const event of reading.events) isApplied = (await applyEvent(run, event)) && isApplied;
    return isApplied ? { kind: "receipt", text: reading.receipt ?? "" } : { kind: "later" };
  }

  /**
   * Handles a buyer's return. The query proves nothing, so the payment service is asked. A payment that has failed by
   * now may have been approved since: it is looked up, and not finished.
   */
  async approval(address: string, query: URLSearchParams): Promise<Payment | undefined> {
    const found = await this.#authenticated(address, "payment-return");
    if (!found) return undefined;
    const { payments, id } = found;
    const payment = await payments.find(id);
    const isOver = payment?.status === "authorization_failed";
    if (payment?.status !== "buyer_approval_pending" && !isOver) return payment;
    const connection = await payments.connectionOf(payment);
    if (!connection) return payment;
    const run = new PaymentRun(this.#parts, payments, connection);
    const outcome = isOver ? await run.lookUp(payment) : await run.finishApproval(payment, query);
    const believed = trustedLookUp(payment, accountFingerprint(payments.keys, connection), outcome);
    return (await changeByLookUp(payments, id, believed)) ?? payment;
  }

  async #authenticated(address: string, kind: SignedPathKind) {
    const presented = decodeSignedPath(address);
    if (!presented) return undefined;
    const tenant = await this.#parts.tenants.find(presented.tenantId);
    if (!tenant || !isAuthenticPath(tenant.keys, kind, presented)) return undefined;
    return { id: presented.id, payments: new TenantPayments(tenant) };
  }
}

/** Returns whether everything in the event has been applied. */
async function applyEvent(run: PaymentRun, event: WebhookEvent): Promise<boolean> {
  const { payments, connection } = run;
  const payment = await paymentOf(payments, connection.id, event);
  // An account's webhooks include payments that are not ours, and the connection may lead to another service by now.
  if (payment?.connection.formulaId !== connection.formula.id) return true;
  const { report } = event;
  if (report.kind === "changed" || !(await isOurs(payments, payment.id, report))) {
    const outcome = await run.lookUp(payment);
    await changeByLookUp(payments, payment.id, outcome);
    return outcome.kind !== "unknown";
  }
  await payments.change(payment.id, (current, now, refunds) =>
    keepingLease(applyReport(current, report, now.getTime(), refunds)),
  );
  return true;
}

async function paymentOf(
  payments: TenantPayments,
  connectionId: Uuid,
  { payment: { reconciliationId, providerId } }: WebhookEvent,
): Promise<Payment | undefined> {
  const id = reconciliationId === undefined ? undefined : expandUuid(reconciliationId);
  const found = id ? await payments.find(id) : undefined;
  if (found) return found.connectionId === connectionId ? found : undefined;
  return providerId === undefined ? undefined : payments.findAtService(connectionId, providerId);
}

/** Refunds may also be made at the service itself. For those, only the payment's state matters. */
async function isOurs(payments: TenantPayments, id: Uuid, report: CompleteReport): Promise<boolean> {
  return report.kind !== "refund" || refundNamed(await payments.listRefunds(id), report) !== undefined;
}

function changeByLookUp(payments: TenantPayments, id: Uuid, outcome: LookUpOutcome): Promise<Payment | undefined> {
  return payments.change(id, (current, now, refunds) =>
    keepingLease(applyLookUp(current, outcome, now.getTime(), refunds)),
  );
}

/** Keeps the lease: another process may be working on the payment. */
function keepingLease(change: Change): Change {
  return { ...change, lease: "kept" };
}
