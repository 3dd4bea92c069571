import type { RefundSchema, Transaction, TransactionSchema } from "../../gen/cloakroom/v1/transactions_pb.js";
import type { Payment } from "../payments/lifecycle/payment.js";
import { findPayment, type PaymentRight } from "../payments/operations/payment-access.js";
import type { ReplayContext, ReplayRule } from "./replay.js";
import { storedUuid } from "./show.js";
import { isCardRedacted } from "./show-payment.js";

/**
 * Repeats a payment's first response, for callers that may currently use the payment. What it had of the card is left out
 * for those to whom the payment shows nothing of it now.
 */
export function replayPayment(right: PaymentRight): ReplayRule<typeof TransactionSchema> {
  return {
    keep: (response) => response,
    async replay(context, kept) {
      const payment = await requirePayment(context, kept.id, right);
      return () => (isCardRedacted(payment, context.tx.caller) ? withoutCard(kept) : kept);
    },
  };
}

function withoutCard({ paymentMethod, ...response }: Transaction) {
  if (!paymentMethod) return response;
  const { label: _label, expirationDate: _expirationDate, ...method } = paymentMethod;
  return { ...response, paymentMethod: { ...method, details: {} } };
}

/** The same for a refund, with the rights on its payment. */
export const REPLAY_REFUND: ReplayRule<typeof RefundSchema> = {
  keep: (response) => response,
  async replay(context, kept) {
    await requirePayment(context, kept.transactionId, "token:use");
    return () => kept;
  },
};

async function requirePayment({ tx }: ReplayContext, id: string, right: PaymentRight): Promise<Payment> {
  const payment = await findPayment(tx, storedUuid(id), right);
  tx.log("transaction", id, "replay");
  return payment;
}
