import { keyIssuanceSeal, sealedRights, sealSessionColumns } from "../access/sealed-rights.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import {
  lockUnsealedApplications,
  lockUnsealedKeys,
  lockUnsealedSessions,
  sealApplicationDefinition,
  sealKeyProof,
  sealSessionRights,
} from "../store/access/unsealed-access.js";
import type { Transaction } from "../store/transactions/transaction.js";

/**
 * Seals the rows that decide access, in the transaction that gives a tenant its first keys which require such seals:
 * from its commit on, a row without a seal is refused. Rows stored before are accepted as they are, since nothing can
 * verify them.
 */
export async function sealAccess(tx: Transaction, keys: Pick<TenantKeys, "data">): Promise<void> {
  const { tenantId } = tx;
  const [applications, applicationKeys, sessions] = await Promise.all([
    tx.query(lockUnsealedApplications, "all"),
    tx.query(lockUnsealedKeys, "all"),
    tx.query(lockUnsealedSessions, "all"),
  ]);
  for (const row of applications) {
    tx.enqueue(sealApplicationDefinition, { id: row.id, type: row.type, ...sealedRights(keys, tenantId, row, row) });
  }
  for (const row of applicationKeys)
    tx.enqueue(sealKeyProof, { id: row.id, proof: keyIssuanceSeal(keys, tenantId, row) });
  for (const row of sessions) {
    tx.enqueue(sealSessionRights, { id: row.id, rights: sealSessionColumns(keys, tenantId, row, row) });
  }
}
