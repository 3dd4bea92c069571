import { EMPTY_CONTEXT } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { readConnection } from "../store/payments/connections.js";
import { claimPayments, LEASE_SECONDS } from "../store/payments/payments.js";
import { findToken } from "../store/tokens/token-reads.js";
import type { Keyring } from "../tenancy/keyring.js";
import { openToken } from "../tokens/sealing.js";
import {
  accountFingerprint,
  cardFingerprint,
  isOfAccount,
  trustedLookUp,
  withAccountFound,
  withAccountSentTo,
} from "./account-fingerprint.js";
import { expirePayment } from "./apply.js";
import type { SensitiveCard } from "./card.js";
import { type Connection, connectionOf } from "./connection.js";
import { matchesSnapshot, payableCard } from "./create-payment.js";
import { endApproval } from "./end-approval.js";
import { applyLookUp, lookUp } from "./look-up.js";
import { lookUpDelay } from "./look-up-schedule.js";
import { openPayment, type Payment } from "./payment.js";
import { changePayment } from "./payment-changes.js";
import { type PerformParts, perform } from "./perform.js";
import { shouldResend } from "./resend.js";

export interface ReconcileParts extends PerformParts {
  readonly keyring: Keyring;
  readonly clock: Clock;
}

const AT_ONCE = 4;

/** Reconciles a tenant's payments whose end is unknown or whose deadline has passed. */
export async function reconcileTenant(parts: ReconcileParts, tenantId: TenantId, signal: AbortSignal): Promise<void> {
  const keys = await parts.keyring.of(tenantId);
  let claimed: number;
  do {
    const rows = await parts.database.ordinary.run(tenantId, "unguarded", (tx) =>
      tx.query(claimPayments, { limit: AT_ONCE, seconds: LEASE_SECONDS }),
    );
    await Promise.all(rows.map((row) => reconcile(parts, keys, tenantId, openPayment(keys, tenantId, row))));
    claimed = rows.length;
  } while (claimed > 0 && !signal.aborted);
}

/**
 * Looks up a payment that we have leased, and only then resends a request that may not have arrived. If the payment is
 * unchanged and still due, back off before the next look-up.
 */
export async function reconcile(
  parts: ReconcileParts,
  keys: TenantKeys,
  tenantId: TenantId,
  payment: Payment,
): Promise<Payment> {
  const after = await lookAfter(parts, keys, tenantId, payment);
  const isSame = after.status === payment.status && after.attempt?.key === payment.attempt?.key;
  const isDue = after.dueAt !== undefined && after.dueAt.getTime() <= parts.clock.now();
  if (!isSame || !isDue) return after;
  const rested = await changePayment(parts.database, keys, tenantId, payment.id, (current, now) => {
    const isUntouched = current.revision === after.revision + 1;
    const dueAt = isUntouched ? new Date(now.getTime() + lookUpDelay(0)) : current.dueAt;
    return { payment: { ...current, dueAt }, moved: false, approved: false, goesOn: true };
  });
  return rested ?? after;
}

async function lookAfter(
  parts: ReconcileParts,
  keys: TenantKeys,
  tenantId: TenantId,
  payment: Payment,
): Promise<Payment> {
  const { database } = parts;
  const row = await database.shared.run(tenantId, "unguarded", (tx) => tx.query(readConnection, payment.connectionId));
  const connection = connectionOf(keys, tenantId, row, payment);
  if (!connection) return (await wait(parts, keys, tenantId, payment)) ?? payment;
  const account = accountFingerprint(keys, connection);
  const isItsAccount = isOfAccount(payment, account);
  const found = trustedLookUp(payment, account, await lookUp(parts, tenantId, payment, connection));
  let isSent = false;
  const after = await changePayment(database, keys, tenantId, payment.id, (current, at, refunds) => {
    const change = applyLookUp(current, found, at.getTime(), refunds);
    // A payment found with a changed API key is in the same account: this look-up stores that, and the next one may
    // resend.
    isSent = isItsAccount && shouldResend(change.payment, found, at.getTime());
    const sent = isSent ? withAccountSentTo(change.payment, account) : change.payment;
    const known = found.kind === "found" ? withAccountFound(sent, account) : sent;
    // Keep the lease: no other process may send meanwhile, because not every service treats two requests with one key
    // as one.
    return { ...change, payment: known, goesOn: known.status === "buyer_approval_pending" || isSent };
  });
  if (!after) return payment;
  if (after.status === "buyer_approval_pending") return endApproval(parts, keys, tenantId, after, connection, found);
  if (!isSent) return after;
  const card =
    after.attempt?.operation === "authorize" ? await cardAgain(parts, keys, tenantId, after, connection) : undefined;
  if (after.attempt?.operation === "authorize" && !card) return letGo(parts, keys, tenantId, after);
  return perform(parts, keys, tenantId, after, connection, card);
}

/** Without its card the payment cannot be resent: it waits for look-ups and webhooks. */
async function letGo({ database }: ReconcileParts, keys: TenantKeys, tenantId: TenantId, payment: Payment) {
  const nothing = { moved: false, approved: false };
  return (
    (await changePayment(database, keys, tenantId, payment.id, (current) => ({ payment: current, ...nothing }))) ??
    payment
  );
}

/** Without its connection the payment cannot be looked up. It fails in the end, as it would without responses. */
function wait({ database }: ReconcileParts, keys: TenantKeys, tenantId: TenantId, payment: Payment) {
  return changePayment(database, keys, tenantId, payment.id, (current, at, refunds) => {
    const now = at.getTime();
    if (current.status !== "buyer_approval_pending") {
      return applyLookUp(current, { kind: "unknown", codes: {} }, now, refunds);
    }
    const { approvalExpiresAt = 0 } = current;
    if (approvalExpiresAt <= now) return expirePayment(current, "incomplete_buyer_approval", now);
    return { payment: { ...current, dueAt: new Date(approvalExpiresAt) }, moved: false, approved: false };
  });
}

/**
 * The card again, if its token exists and still holds the same card, with the verification code if it is still stored.
 * A changed or recreated token may hold another card, which must not be charged.
 */
async function cardAgain(
  { database, connectors }: ReconcileParts,
  keys: TenantKeys,
  tenantId: TenantId,
  { tokenId, order, attempt, card: shown }: Payment,
  connection: Connection,
): Promise<SensitiveCard | undefined> {
  const row = await database.shared.run(tenantId, "unguarded", async (tx) => {
    const found = await findToken(tx, tokenId);
    const context = { ...EMPTY_CONTEXT, destinationHost: connectors.hostOf(connection) };
    if (found) writeLog(tx, logEntry(undefined, "card", tokenId, "use", { transform: "reveal", context }));
    return found;
  });
  const card = row ? payableCard(openToken(keys, tenantId, row)) : undefined;
  if (!card) return undefined;
  // Attempts of earlier versions have no mark.
  const mark = attempt?.card;
  const isThatOne = mark === undefined ? matchesSnapshot(shown, card) : cardFingerprint(keys, card) === mark;
  if (!isThatOne) return undefined;
  return new Sensitive(order.isMerchantInitiated ? { ...card, cvc: undefined } : card);
}
