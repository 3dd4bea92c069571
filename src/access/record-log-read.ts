import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { actorOf, type Caller } from "./caller.js";

/** Leaves a row about a read of the log, if the tenant's settings ask for it. */
export function recordLogRead(tx: Transaction, caller: Caller, remark?: "followed"): void {
  if (caller.settings.record_log_reads)
    writeLog(tx, logEntry(actorOf(caller), "log", ANY_ENTITY_ID, "list", { remark }));
}
