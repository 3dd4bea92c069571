import { loggedActor } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { notFound } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { macOfDeletion } from "../crypto/log-seal.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import { deleteAllDue, scheduleDue } from "../store/jobs/due.js";
import { deleteTenantKeys } from "../store/tenancy/tenant-keys.js";
import { REMOVALS } from "../store/tenancy/tenant-rows.js";
import { markTenantDeleted } from "../store/tenancy/tenants.js";

/** Rows per transaction. 500 rows with their terms took 35 ms on two cores. */
const BATCH = 500;

/**
 * Deletes the tenant, with a log row under a key of the vault itself. From the commit on, none of its API keys works
 * and its data cannot be opened: the keys that it is sealed under are deleted. {@link removeRows} deletes the rows
 * afterwards.
 */
export async function deleteTenant(tx: CallerTransaction, vaultKeys: TenantKeys): Promise<void> {
  const actor = loggedActor(tx.caller);
  const { audit } = vaultKeys;
  const closing = macOfDeletion(audit, audit.current, { tenantId: tx.tenantId, at: tx.now, by: actor.id });
  if (!(await tx.query(markTenantDeleted, { modified_by: actor.id, closing_mac: closing }))) throw notFound("tenant");
  tx.enqueue(deleteTenantKeys, tx.tenantId);
  tx.enqueue(deleteAllDue, "all");
  scheduleDue(tx, { kind: "tenant", at: tx.now });
  tx.log("tenant", tx.tenantId, "delete");
}

/** Deletes the rows of a deleted tenant, a few hundred per transaction. Can be repeated, and stopped at any time. */
export async function removeRows(database: Database, tenantId: TenantId, signal: AbortSignal): Promise<void> {
  for (const { some, rest } of REMOVALS) {
    let removed = BATCH;
    while (removed > 0 && !signal.aborted) {
      removed = await database.of(tenantId).bulk(async (tx) => {
        const count = await tx.query(some, BATCH);
        if (count === 0) tx.enqueue(rest, "all");
        return count;
      });
    }
  }
}
