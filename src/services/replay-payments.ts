import type { RefundSchema, TransactionSchema } from "../../gen/cloakroom/v1/transactions_pb.js";
import { actorOf } from "../access/caller.js";
import { Refused } from "../access/refusal.js";
import { logEntry } from "../audit/log-entry.js";
import { findPayment } from "../payments/payment-access.js";
import { writeLog } from "../store/audit-logs.js";
import type { ReplayContext, ReplayRule } from "./replay.js";
import { uuidOf } from "./show.js";

/** Gives a payment's first answer again, to callers that may touch the payment now. */
export function replayPayment(right: "token:use" | "capture"): ReplayRule<typeof TransactionSchema> {
  return {
    keep: (answer) => answer,
    async replay(context, kept) {
      const refused = await refusalOf(context, kept.id, right);
      return refused ?? (() => kept);
    },
  };
}

/** The same for a refund, by the payment that it belongs to. */
export const REPLAY_REFUND: ReplayRule<typeof RefundSchema> = {
  keep: (answer) => answer,
  async replay(context, kept) {
    const refused = await refusalOf(context, kept.transactionId, "token:use");
    return refused ?? (() => kept);
  },
};

async function refusalOf(
  { tx, caller, keys }: ReplayContext,
  id: string,
  right: "token:use" | "capture",
): Promise<Refused | undefined> {
  const found = await findPayment(tx, caller, keys, uuidOf(id), right);
  if (found instanceof Refused) return found;
  writeLog(tx, logEntry(actorOf(caller), "transaction", id, "replay"));
  return undefined;
}
