import type { RefundSchema, TransactionSchema } from "../../gen/cloakroom/v1/transactions_pb.js";
import { findPayment, type PaymentRight } from "../payments/operations/payment-access.js";
import type { ReplayContext, ReplayRule } from "./replay.js";
import { storedUuid } from "./show.js";

/** Repeats a payment's first response, for callers that may currently use the payment. */
export function replayPayment(right: PaymentRight): ReplayRule<typeof TransactionSchema> {
  return {
    keep: (response) => response,
    async replay(context, kept) {
      await requirePayment(context, kept.id, right);
      return () => kept;
    },
  };
}

/** The same for a refund, with the rights on its payment. */
export const REPLAY_REFUND: ReplayRule<typeof RefundSchema> = {
  keep: (response) => response,
  async replay(context, kept) {
    await requirePayment(context, kept.transactionId, "token:use");
    return () => kept;
  },
};

async function requirePayment({ tx }: ReplayContext, id: string, right: PaymentRight): Promise<void> {
  await findPayment(tx, storedUuid(id), right);
  tx.log("transaction", id, "replay");
}
