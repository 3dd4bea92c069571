import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import type { CallerTransaction } from "./caller-transaction.js";

/** Leaves a row about a read of the log, if the tenant's settings ask for it. */
export function recordLogRead(tx: CallerTransaction, remark?: "followed"): void {
  if (tx.caller.settings.record_log_reads) tx.log("log", ANY_ENTITY_ID, "list", { remark });
}
