import { actorOf, type Caller } from "../access/caller.js";
import { logEntry } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { macOfClosing } from "../crypto/log-seal.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
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
 * Deletes the tenant, with a record under a key of the vault itself. From the commit on none of its keys works anywhere, and what is stored can be opened by nobody: the
 * keys that it is sealed under are gone. The rows are removed afterwards ({@link removeRows}).
 */
export async function removeTenant(tx: Transaction, caller: Caller, vaultKeys: TenantKeys): Promise<void> {
  const actor = actorOf(caller);
  const { audit } = vaultKeys;
  const closing = macOfClosing(audit, audit.current, { tenantId: tx.tenantId, at: tx.now, by: actor.id });
  if (!(await tx.query(closeTenant, { modified_by: actor.id, closing_mac: closing }))) throw notFound("tenant");
  tx.enqueue(deleteTenantKeys, tx.tenantId);
  tx.enqueue(forgetAllDue, "all");
  noteDue(tx, { kind: "tenant", at: tx.now });
  writeLog(tx, logEntry(actor, "tenant", tx.tenantId, "delete"));
}

/** Removes the rows of a deleted tenant, a few hundred a transaction. Can be run again, and stopped at any time. */
export async function removeRows(database: Database, tenantId: TenantId, signal: AbortSignal): Promise<void> {
  for (const { some, rest } of REMOVALS) {
    let removed = BATCH;
    while (removed > 0 && !signal.aborted) {
      removed = await database.slow.run(tenantId, "unguarded", async (tx) => {
        const count = await tx.query(some, BATCH);
        if (count === 0) tx.enqueue(rest, "all");
        return count;
      });
    }
  }
}
