import { logEntry } from "../audit/log-entry.js";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit-logs.js";
import { readConnection } from "../store/connections.js";
import { claimPayments } from "../store/payments.js";
import { readTokenRow } from "../store/tokens.js";
import type { Keyring } from "../tenancy/keyring.js";
import { openToken } from "../tokens/sealing.js";
import { base62Of } from "./addresses.js";
import { cardOf } from "./admit-payment.js";
import { applyStanding, GIVE_UP_MS, giveUp, waitingFor } from "./apply.js";
import type { SensitiveCard } from "./card.js";
import { type Connection, connectionOf } from "./connection.js";
import type { LookUpOutcome } from "./outcome.js";
import { openPayment, type Payment, referenceOf } from "./payment.js";
import { type Change, changePayment } from "./payment-changes.js";
import { afterRefund, type PerformParts, perform } from "./perform.js";
import { accountMark, believable, cardMark, foundIn, isOfAccount, sentTo } from "./sent-with.js";

export interface ReconcileParts extends PerformParts {
  readonly keyring: Keyring;
  readonly clock: Clock;
}

const AT_ONCE = 4;
/** An approval whose end cannot be learned is asked for this often before it is taken for missed. */
const UNCLEAR_APPROVAL_MS = 60_000;

/** Looks after the payments of a tenant whose end is not known, or whose time is over. */
export async function reconcileTenant(parts: ReconcileParts, tenantId: TenantId, signal: AbortSignal): Promise<void> {
  const keys = await parts.keyring.of(tenantId);
  let claimed: number;
  do {
    const rows = await parts.database.fast.run(tenantId, "unguarded", (tx) =>
      tx.ask(claimPayments, { limit: AT_ONCE }),
    );
    await Promise.all(rows.map((row) => reconcile(parts, keys, tenantId, openPayment(keys, tenantId, row))));
    claimed = rows.length;
  } while (claimed > 0 && !signal.aborted);
}

/** Asks how a payment stands, and only then sends again what may not have arrived. The payment is leased to us. */
export async function reconcile(
  parts: ReconcileParts,
  keys: TenantKeys,
  tenantId: TenantId,
  payment: Payment,
): Promise<Payment> {
  const { database } = parts;
  const row = await database.fast.run(tenantId, "unguarded", (tx) => tx.ask(readConnection, payment.connectionId));
  const connection = connectionOf(keys, tenantId, row, payment);
  if (!connection) return (await wait(parts, keys, tenantId, payment)) ?? payment;
  const account = accountMark(keys, connection);
  const isItsAccount = isOfAccount(payment, account);
  const found = believable(payment, account, await lookUp(parts, tenantId, payment, connection));
  let isSent = false;
  const after = await changePayment(database, keys, tenantId, payment.id, (current, now) => {
    const change = afterLookUp(current, found, now.getTime());
    // Found with another key, it is the same account: the next look may send, and knows it for that.
    isSent = isItsAccount && mustSend(change.payment, found);
    const sent = isSent ? sentTo(change.payment, account) : change.payment;
    const known = found.kind === "found" ? foundIn(sent, account) : sent;
    // Nobody else may send meanwhile: not every service knows two requests with one key for the same.
    return { ...change, payment: known, goesOn: known.status === "buyer_approval_pending" || isSent };
  });
  if (!after) return payment;
  if (after.status === "buyer_approval_pending") return endApproval(parts, keys, tenantId, after, connection, found);
  if (!isSent) return after;
  const card = after.attempt?.operation === "authorize" ? await cardAgain(parts, keys, tenantId, after) : undefined;
  if (after.attempt?.operation === "authorize" && !card) return letGo(parts, keys, tenantId, after);
  return perform(parts, keys, tenantId, after, connection, card);
}

/** Without its card nothing can be sent again: the payment waits for what look-ups and webhooks tell. */
async function letGo({ database }: ReconcileParts, keys: TenantKeys, tenantId: TenantId, payment: Payment) {
  const nothing = { moved: false, approved: false };
  return (
    (await changePayment(database, keys, tenantId, payment.id, (current) => ({ payment: current, ...nothing }))) ??
    payment
  );
}

/** Applies what a look-up found. An operation of ours that shows in it has ended by that. */
export function afterLookUp(current: Payment, found: LookUpOutcome, now: number): Change {
  const { attempt } = current;
  const step =
    found.kind === "found"
      ? applyStanding(current, found.standing, now)
      : { payment: current, moved: false, approved: false };
  if (step.moved || !attempt) {
    const isWaiting = step.moved || current.status === "buyer_approval_pending";
    return isWaiting ? step : { ...step, payment: { ...step.payment, dueAt: undefined } };
  }
  if (attempt.operation === "refund" && found.kind === "found") {
    const refund = found.refunds?.find(({ reference }) => attempt.refundId && reference === base62Of(attempt.refundId));
    if (refund && attempt.refundId) {
      // The service's own total has this refund in it already.
      const before = { ...step.payment, refundedAmount: current.refundedAmount };
      const ended = afterRefund(before, refund.outcome, attempt, now);
      return { ...ended, refund: { id: attempt.refundId, outcome: refund.outcome } };
    }
    return {
      ...step,
      payment: { ...waitingFor(step.payment, stateOf(attempt.state), now), refundedAmount: current.refundedAmount },
    };
  }
  const isOver = attempt.operation === "authorize" && now - attempt.since > GIVE_UP_MS;
  if (isOver) return giveUp(step.payment, "service_network_error", now);
  return { ...step, payment: waitingFor(step.payment, stateOf(attempt.state), now) };
}

function stateOf(state: "sent" | "unknown" | "accepted"): "unknown" | "accepted" {
  return state === "accepted" ? "accepted" : "unknown";
}

/** Whether the payment service certainly has not what we wanted, or takes the same key for the same request. */
function mustSend({ attempt, status }: Payment, found: LookUpOutcome): boolean {
  if (!attempt || attempt.state === "accepted" || found.kind === "unknown") return false;
  if (attempt.operation === "authorize") return found.kind !== "found";
  if (attempt.operation === "refund") return status === "capture_succeeded";
  return found.kind === "unsupported" || (found.kind === "found" && found.standing.kind === "authorized");
}

/** The buyer's time is over: what was not approved by now is called off, there and here. */
async function endApproval(
  parts: ReconcileParts,
  keys: TenantKeys,
  tenantId: TenantId,
  payment: Payment,
  connection: Connection,
  found: LookUpOutcome,
): Promise<Payment> {
  const now = parts.clock.now();
  const isLate = (payment.approvalExpiresAt ?? 0) <= now;
  const { connectors, database } = parts;
  const later = (at: number) =>
    changePayment(database, keys, tenantId, payment.id, (current) => ({
      payment: current.status === "buyer_approval_pending" ? { ...current, dueAt: new Date(at) } : current,
      ...{ moved: false, approved: false },
    }));
  if (!isLate) return (await later(payment.approvalExpiresAt ?? now + UNCLEAR_APPROVAL_MS)) ?? payment;
  if (found.kind === "unknown") return (await later(now + UNCLEAR_APPROVAL_MS)) ?? payment;
  await connectors
    .of(connection.formula.id)
    .void(connectors.contextOf(tenantId, connection), {
      payment: referenceOf(payment),
      idempotencyKey: `${referenceOf(payment).reconciliationId}-end`,
    })
    .catch(() => parts.onDefect(tenantId));
  const ended = await changePayment(database, keys, tenantId, payment.id, (current, at) =>
    giveUp(current, "incomplete_buyer_approval", at.getTime()),
  );
  return ended ?? payment;
}

async function lookUp(
  { connectors, onDefect }: ReconcileParts,
  tenantId: TenantId,
  payment: Payment,
  connection: Connection,
) {
  const context = connectors.contextOf(tenantId, connection);
  try {
    return await connectors.of(connection.formula.id).lookUp(context, referenceOf(payment));
  } catch {
    onDefect(tenantId);
    return { kind: "unknown", codes: {} } as const;
  }
}

/** Without its connection nobody can be asked; it is given up in the end, as it would be without answers. */
function wait({ database }: ReconcileParts, keys: TenantKeys, tenantId: TenantId, payment: Payment) {
  return changePayment(database, keys, tenantId, payment.id, (current, now) =>
    current.status === "buyer_approval_pending"
      ? giveUp(current, "incomplete_buyer_approval", now.getTime())
      : afterLookUp(current, { kind: "unknown", codes: {} }, now.getTime()),
  );
}

/**
 * The card once more, while its token lives and still holds that one; its verification code, while that is kept. A token
 * may hold another card by now, changed or made anew: that one was never to be charged.
 */
async function cardAgain(
  { database }: ReconcileParts,
  keys: TenantKeys,
  tenantId: TenantId,
  { tokenId, order, attempt }: Payment,
): Promise<SensitiveCard | undefined> {
  const row = await database.fast.run(tenantId, "unguarded", async (tx) => {
    const found = await tx.ask(readTokenRow, tokenId);
    if (found) writeLog(tx, logEntry(undefined, "card", tokenId, "use"));
    return found;
  });
  const card = row ? cardOf(openToken(keys, tenantId, row)) : undefined;
  if (card && cardMark(keys, card) !== attempt?.card) return undefined;
  return card && new Sensitive(order.isMerchantInitiated ? { ...card, cvc: undefined } : card);
}
