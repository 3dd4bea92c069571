import { sendingTo } from "../../access/caller.js";
import { storedPaths } from "../../access/container.js";
import { denied } from "../../access/refusal.js";
import { Fault, invalid } from "../../base/fault.js";
import { newUuid, type Uuid } from "../../base/ids.js";
import { isJsonObject } from "../../base/json.js";
import { showFingerprint } from "../../crypto/keyed-hash.js";
import { Sensitive } from "../../crypto/sensitive.js";
import { scheduleDue } from "../../store/jobs/due.js";
import { readConnection } from "../../store/payments/connections.js";
import { insertPayment } from "../../store/payments/payments.js";
import { findToken } from "../../store/tokens/token-reads.js";
import { countMonthlyActivity } from "../../tokens/activity.js";
import { loggedTokenType } from "../../tokens/entity.js";
import { openToken } from "../../tokens/sealing.js";
import type { Token } from "../../tokens/token.js";
import { cardBrand } from "../../tokens/types/card-brand.js";
import { type Connection, openConnection } from "../connections/connection.js";
import type { Card, SensitiveCard } from "../contract/card.js";
import { accountFingerprint, cardFingerprint } from "../lifecycle/account-fingerprint.js";
import {
  type CardSnapshot,
  type Payment,
  type PaymentOrder,
  showReconciliationId,
  writePaymentRow,
} from "../lifecycle/payment.js";
import { claimThreeDSData } from "../three-ds/claim.js";
import type { PaymentCall } from "./payment-call.js";

export interface PaymentDraft {
  readonly connectionId: Uuid;
  readonly tokenId: string;
  readonly order: Omit<PaymentOrder, "threeDS">;
  readonly threeDSSessionId: Uuid | undefined;
}

/** A payment whose row is committed, with everything needed to send it. Lives in memory for one call. */
export interface CreatedPayment {
  readonly payment: Payment;
  readonly connection: Connection;
  readonly card: SensitiveCard;
}

/**
 * The lease of a payment that is being sent, in business time. A payment without a stored response by then is reconciled.
 */
export const SENDING_LEASE_MS = 45_000;

/** Stores a payment before any service is asked for money. Every invalid request is rejected here and leaves no row. */
export async function createPayment(
  { tx, hosts }: PaymentCall,
  { connectionId, tokenId, order, threeDSSessionId }: PaymentDraft,
): Promise<CreatedPayment> {
  requireFlags(order);
  const connectionRow = await tx.query(readConnection, connectionId);
  if (!connectionRow) throw invalid("connection_id", "must be the id of a connection");
  const connection = openConnection(tx.keys, connectionRow);
  const objection = objectionOf(connection, order);
  if (objection) throw objection;

  const row = await findToken(tx, tokenId);
  if (!row) throw invalid("token", "must be the id of a card token that exists");
  const token = openToken(tx.keys, row);
  const entityType = loggedTokenType(token.type);
  const transform = tx.caller.grant.transformFor("token:use", token);
  if (!transform || transform === "redact") throw denied(tx.caller, "token:use", entityType, tokenId);
  if (token.type.name !== "card") throw invalid("token", "must be the id of a token of type card");
  const whole = payableCard(token);
  if (!whole) throw invalid("token", "must be a card with its expiry month and year");
  const card: Card = order.isMerchantInitiated ? { ...whole, cvc: undefined } : whole;

  const id = newUuid();
  const use = { tokenId, number: card.number, order, paymentId: id };
  const threeDS = threeDSSessionId && (await claimThreeDSData(tx, threeDSSessionId, use));
  const payment: Payment = {
    ...untouched({
      id,
      amount: order.amount,
      account: accountFingerprint(tx.keys, connection),
      card: cardFingerprint(tx.keys, card),
      now: tx.now,
    }),
    connectionId,
    tokenId,
    containers: storedPaths(row.containers),
    order: { ...order, threeDS },
    card: snapshotOf(token, card),
    connection: {
      formulaId: connection.formula.id,
      method: connection.formula.method,
      displayName: connection.displayName,
    },
    threeDSecure: threeDS ? { version: threeDS.version, status: "complete", method: threeDS.method } : undefined,
  };
  const { revision: _, ...written } = writePaymentRow(tx.keys, payment);
  tx.enqueue(insertPayment, written);
  scheduleDue(tx, { kind: "payment", at: new Date(tx.now.getTime() + SENDING_LEASE_MS) });
  const sending = tx.actingAs(sendingTo(tx.caller, hosts.hostOf(connection)));
  sending.log("transaction", id, "create");
  sending.log(entityType, tokenId, "use", { transform: "reveal" });
  await countMonthlyActivity(tx, tokenId, row.active_month);
  return { payment, connection, card: new Sensitive(card) };
}

/** What is the same of every payment whose authorization is stored and not yet sent. */
function untouched({ id, amount, account, card, now }: Unsent) {
  return {
    id,
    status: "processing",
    account,
    intentOutcome: "pending",
    authorizedAmount: 0,
    capturedAmount: 0,
    refundedAmount: 0,
    providerId: undefined,
    schemeTransactionId: undefined,
    errorCode: undefined,
    codes: {},
    approvalUrl: undefined,
    approvalExpiresAt: undefined,
    authorizedAt: undefined,
    capturedAt: undefined,
    voidedAt: undefined,
    updatedAt: now.getTime(),
    captures: 0,
    voids: 0,
    revision: 1,
    createdAt: now,
    attempt: {
      operation: "authorize",
      key: `${showReconciliationId({ id })}-auth`,
      amount,
      state: "sent",
      tries: 0,
      since: now.getTime(),
      account,
      card,
    },
    dueAt: new Date(now.getTime() + SENDING_LEASE_MS),
  } as const satisfies Partial<Payment>;
}

interface Unsent {
  readonly id: Uuid;
  readonly amount: number;
  /** Fingerprints of the account and the card that the request is sent to and with. */
  readonly account: string;
  readonly card: string;
  readonly now: Date;
}

/**
 * A buyer who shops is present, so the shop cannot be the initiator. The shop may initiate a recurring payment only after
 * the buyer's first one.
 */
function requireFlags({
  paymentSource,
  isMerchantInitiated,
  isSubsequentPayment,
  intent,
  amount,
}: PaymentDraft["order"]) {
  if (paymentSource === "ecommerce" && isMerchantInitiated) {
    throw invalid("merchant_initiated", "must be false when payment_source is ecommerce");
  }
  if (paymentSource === "recurring" && isMerchantInitiated && !isSubsequentPayment) {
    throw invalid("is_subsequent_payment", "must be true when a recurring payment is merchant_initiated");
  }
  if (intent === "capture" && amount === 0) throw invalid("amount", "must be more than 0 when the intent is capture");
}

function objectionOf(connection: Connection, { currency, country, amount }: PaymentDraft["order"]): Fault | undefined {
  if (!connection.active) return invalid("connection_id", "must be an active connection");
  if (connection.status === "failed") return invalid("connection_id", "must be a connection whose credentials work");
  if (connection.status === "pending") {
    return new Fault("conflict", "The connection's credentials are still being checked. Try again shortly.", {
      retryAfter: 5,
    });
  }
  if (!connection.acceptedCurrencies.includes(currency)) {
    return invalid("currency", "must be one of the connection's accepted_currencies");
  }
  if (country !== undefined && !connection.acceptedCountries.includes(country)) {
    return invalid("country", "must be one of the connection's accepted_countries");
  }
  if (amount === 0 && !connection.formula.features.has("zero_auth")) {
    return invalid("amount", "must be more than 0: this payment service does not support zero-amount authorizations");
  }
  return undefined;
}

/** Returns undefined for a card without an expiry, which no payment service accepts. */
export function payableCard({ type, data }: Token): Card | undefined {
  const plain = data.reveal();
  if (type.name !== "card" || !isJsonObject(plain)) return undefined;
  const { number, expiration_month: month, expiration_year: year, cvc } = plain;
  if (typeof number !== "string" || typeof month !== "number" || typeof year !== "number") return undefined;
  return {
    number,
    expirationMonth: month,
    expirationYear: year < 100 ? 2000 + year : year,
    cvc: typeof cvc === "string" ? cvc : undefined,
  };
}

function shownCard({ number, expirationMonth, expirationYear }: Card) {
  const month = String(expirationMonth).padStart(2, "0");
  return {
    last4: number.slice(-4),
    bin: number.slice(0, number.length >= 16 ? 8 : 6),
    expirationDate: `${month}/${String(expirationYear).slice(-2)}`,
  };
}

function snapshotOf({ fingerprint }: Token, card: Card): CardSnapshot {
  return {
    ...shownCard(card),
    scheme: schemeOf(card.number),
    fingerprint: fingerprint ? showFingerprint(fingerprint) : undefined,
  };
}

/** The brand's name in `payment_method.scheme`. */
function schemeOf(number: string): string | undefined {
  const brand = cardBrand(number);
  return brand === "american-express" ? "amex" : brand;
}
