import type { OrdinaryTenantTransaction } from "../../audit/tenant-transaction.js";
import { invalid } from "../../base/fault.js";
import type { Uuid } from "../../base/ids.js";
import { lockThreeDSSession, updateThreeDSSession } from "../../store/payments/three-ds-sessions.js";
import { numericCurrency } from "../contract/currency.js";
import type { ThreeDSData } from "../contract/payment-request.js";
import { authenticatedCard, openSession, sealSession, THREE_DS_VERSION } from "./session.js";

export interface SessionUse {
  readonly tokenId: string;
  /** The card's, as the token has it now. */
  readonly number: string;
  readonly order: { readonly amount: number; readonly currency: string };
  readonly paymentId: Uuid;
}

const FIELD = "three_d_session_id";

/**
 * Takes a session for a payment. It must be of the same token and card, authenticated, for at least the amount, in the
 * same currency, and unused.
 */
export async function claimThreeDSData(
  tx: OrdinaryTenantTransaction,
  id: Uuid,
  { tokenId, number, order, paymentId }: SessionUse,
): Promise<ThreeDSData> {
  const row = await lockThreeDSSession(tx, id);
  if (!row) throw invalid(FIELD, "must be the id of a 3DS session that has not expired");
  const session = openSession(tx.keys, row);
  const { authentication } = session;
  if (session.tokenId !== tokenId) throw invalid(FIELD, "must be a session of the same token");
  if (session.paymentId) throw invalid(FIELD, "must be a 3DS session that has not been used");
  if (!authentication) throw invalid(FIELD, "must be a session that was authenticated");
  const { status, statusCode, authenticationValue, eci, amount, currency, card } = authentication;
  if (card !== authenticatedCard(tx.keys, number)) {
    throw invalid(FIELD, "must be a session that authenticated the card that the token holds now");
  }
  if ((status !== "successful" && status !== "attempted") || !authenticationValue || !eci) {
    throw invalid(FIELD, "must be a session whose authentication succeeded or was attempted");
  }
  if (amount !== undefined && amount < order.amount) {
    throw invalid(FIELD, "must be a session that was authenticated for at least this amount");
  }
  if (currency !== undefined && currency !== numericCurrency(order.currency)) {
    throw invalid(FIELD, "must be a session that was authenticated for this currency");
  }
  const record = sealSession(tx.keys, { ...session, paymentId });
  tx.enqueue(updateThreeDSSession, { id, record, payment_id: paymentId });
  return {
    version: THREE_DS_VERSION,
    authenticationValue,
    eci,
    dsTransactionId: authentication.dsTransactionId,
    directoryStatus: authentication.wasChallenged ? "C" : statusCode,
    authenticationStatus: statusCode,
    statusReason: authentication.statusReason,
    method: authentication.wasChallenged ? "challenge" : "frictionless",
  };
}
