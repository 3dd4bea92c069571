import { EMPTY_CONTEXT } from "../../audit/audit-context.js";
import type { Clock } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import { Sensitive } from "../../crypto/sensitive.js";
import { findToken } from "../../store/tokens/token-reads.js";
import type { Tenants } from "../../tenancy/tenants.js";
import { openToken } from "../../tokens/sealing.js";
import type { SensitiveCard } from "../contract/card.js";
import {
  accountFingerprint,
  cardFingerprint,
  isOfAccount,
  trustedLookUp,
  withAccountFound,
  withAccountSentTo,
} from "../lifecycle/account-fingerprint.js";
import { applyLookUp } from "../lifecycle/apply-look-up.js";
import { expirePayment, unmoved } from "../lifecycle/apply-outcome.js";
import { lookUpDelay } from "../lifecycle/look-up-schedule.js";
import type { Payment } from "../lifecycle/payment.js";
import { TenantPayments } from "../lifecycle/tenant-payments.js";
import { payableCard } from "../operations/create-payment.js";
import { PaymentRun, type RunParts } from "../operations/payment-run.js";
import { endApproval } from "./end-approval.js";
import { shouldResend } from "./resend-rule.js";

export interface ReconcileParts extends RunParts {
  readonly tenants: Tenants;
  readonly clock: Clock;
}

const AT_ONCE = 4;

/** Reconciles a tenant's payments whose end is unknown or whose deadline has passed. */
export async function reconcileTenant(parts: ReconcileParts, tenantId: TenantId, signal: AbortSignal): Promise<void> {
  const payments = new TenantPayments(await parts.tenants.of(tenantId));
  let claimed: number;
  do {
    const due = await payments.claim(AT_ONCE);
    await Promise.all(due.map((payment) => reconcile(parts, payments, payment)));
    claimed = due.length;
  } while (claimed > 0 && !signal.aborted);
}

/**
 * Looks up a payment that we have leased, and only then resends a request that may not have arrived. If the payment is
 * unchanged and still due, back off before the next look-up.
 */
export async function reconcile(parts: ReconcileParts, payments: TenantPayments, payment: Payment): Promise<Payment> {
  const after = await lookUpAndResend(parts, payments, payment);
  const isSame = after.status === payment.status && after.attempt?.key === payment.attempt?.key;
  const isDue = after.dueAt !== undefined && after.dueAt.getTime() <= parts.clock.now();
  if (!isSame || !isDue) return after;
  const postponed = await payments.change(payment.id, (current, now) => {
    const isUntouched = current.revision === after.revision + 1;
    const dueAt = isUntouched ? new Date(now.getTime() + lookUpDelay(0)) : current.dueAt;
    return { ...unmoved({ ...current, dueAt }), lease: "kept" };
  });
  return postponed ?? after;
}

async function lookUpAndResend(parts: ReconcileParts, payments: TenantPayments, payment: Payment): Promise<Payment> {
  const connection = await payments.connectionOf(payment);
  if (!connection) return (await waitForConnection(payments, payment)) ?? payment;
  const run = new PaymentRun(parts, payments, connection);
  const account = accountFingerprint(payments.keys, connection);
  const isItsAccount = isOfAccount(payment, account);
  const found = trustedLookUp(payment, account, await run.lookUp(payment));
  let isResent = false;
  const after = await payments.change(payment.id, (current, at, refunds) => {
    const change = applyLookUp(current, found, at.getTime(), refunds);
    // A payment found with a changed API key is in the same account: this look-up stores that, and the next one may
    // resend.
    // Another process that changed the payment during a long look-up may have sent it again.
    const isUntouched = current.revision === payment.revision;
    isResent = isItsAccount && isUntouched && shouldResend(change.payment, found, at.getTime());
    const sent = isResent ? withAccountSentTo(change.payment, account) : change.payment;
    const known = found.kind === "found" ? withAccountFound(sent, account) : sent;
    // No other process may send meanwhile, because not every service treats two requests with one key as one.
    const isGoingOn = known.status === "buyer_approval_pending" || isResent;
    return { ...change, payment: known, ...(isGoingOn ? { lease: "renewed" } : {}) };
  });
  if (!after) return payment;
  if (after.status === "buyer_approval_pending") return endApproval(run, after, found, parts.clock.now());
  if (!isResent) return after;
  if (after.attempt?.operation !== "authorize") return run.send(after);
  const card = await cardAgain(parts, run, after);
  if (card) return run.send(after, card);
  // Without its card the payment cannot be resent: it waits for look-ups and webhooks, and its lease ends.
  return (await payments.change(after.id, unmoved)) ?? after;
}

/** Without its connection the payment cannot be looked up. It fails in the end, as it would without responses. */
function waitForConnection(payments: TenantPayments, payment: Payment): Promise<Payment | undefined> {
  return payments.change(payment.id, (current, at, refunds) => {
    const now = at.getTime();
    if (current.status !== "buyer_approval_pending") {
      return applyLookUp(current, { kind: "unknown", codes: {} }, now, refunds);
    }
    const { approvalExpiresAt = 0 } = current;
    if (approvalExpiresAt <= now) return expirePayment(current, "incomplete_buyer_approval", now);
    return unmoved({ ...current, dueAt: new Date(approvalExpiresAt) });
  });
}

/**
 * The card again, if its token exists and still holds the same card, with the verification code if it is still stored.
 * A changed or recreated token may hold another card, which must not be charged.
 */
async function cardAgain(
  { connectors }: RunParts,
  { payments, connection }: PaymentRun,
  { tokenId, order, attempt }: Payment,
): Promise<SensitiveCard | undefined> {
  const row = await payments.read(async (tx) => {
    const found = await findToken(tx, tokenId);
    const context = { ...EMPTY_CONTEXT, destinationHost: connectors.hostOf(connection) };
    if (found) tx.log("card", tokenId, "use", { transform: "reveal", context });
    return found;
  });
  const card = row ? payableCard(await payments.open((keys) => openToken(keys, row))) : undefined;
  if (!card || cardFingerprint(payments.keys, card) !== attempt?.card) return undefined;
  return new Sensitive(order.isMerchantInitiated ? { ...card, cvc: undefined } : card);
}
