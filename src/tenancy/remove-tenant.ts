import { actorOf, type Caller } from "../access/caller.js";
import { Refused } from "../access/refusal.js";
import { logEntry } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { writeLog } from "../store/audit-logs.js";
import type { Database } from "../store/database.js";
import { forgetAllDue, noteDue } from "../store/due.js";
import { deleteTenantKeys } from "../store/tenant-keys.js";
import { REMOVALS } from "../store/tenant-rows.js";
import { closeTenant } from "../store/tenants.js";
import type { Transaction } from "../store/transaction.js";

/** Rows a transaction. 500 rows with their terms took 35 ms (storage study 4.5). */
const BATCH = 500;

/**
 * Deletes the tenant. From the commit on none of its keys works anywhere, and what is stored can be opened by nobody: the
 * keys that it is sealed under are gone. The rows are removed afterwards ({@link removeRows}).
 */
export async function removeTenant(tx: Transaction, caller: Caller): Promise<undefined | Refused> {
  const actor = actorOf(caller);
  if (!(await tx.ask(closeTenant, { modified_by: actor.id }))) return new Refused(notFound("tenant"));
  tx.tell(deleteTenantKeys, tx.tenantId);
  tx.tell(forgetAllDue, "all");
  noteDue(tx, { kind: "tenant", at: tx.now });
  writeLog(tx, logEntry(actor, "tenant", tx.tenantId, "delete"));
  return undefined;
}

/** Removes the rows of a deleted tenant, a few hundred a transaction. Can be run again, and stopped at any time. */
export async function removeRows(database: Database, tenantId: TenantId, signal: AbortSignal): Promise<void> {
  for (const { some, rest } of REMOVALS) {
    let removed = BATCH;
    while (removed > 0 && !signal.aborted) {
      removed = await database.slow.run(tenantId, "unguarded", async (tx) => {
        const count = await tx.ask(some, BATCH);
        if (count === 0) tx.tell(rest, "all");
        return count;
      });
    }
  }
}
