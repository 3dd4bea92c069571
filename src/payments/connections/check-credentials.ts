import { HOUR_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import { scheduleDue } from "../../store/jobs/due.js";
import { type ConnectionRow, listDueChecks, saveCredentialsCheck } from "../../store/payments/connections.js";
import type { Tenants } from "../../tenancy/tenants.js";
import type { CredentialsOutcome } from "../contract/outcome.js";
import { openConnection } from "./connection.js";
import type { Connectors } from "./connectors.js";

export interface CheckParts {
  readonly tenants: Tenants;
  readonly connectors: Connectors;
}

const FIRST_DELAY_MS = 10_000;
const MAX_DELAY_MS = HOUR_MS;
/**
 * The delay starts at 10 s and doubles up to an hour. After all checks, a little more than a day, the connection has
 * failed.
 */
const MAX_CHECKS = 32;

/** Checks the credentials of a tenant's unchecked connections. Idempotent: two replicas may both run it. */
export async function checkConnections(
  { tenants, connectors }: CheckParts,
  tenantId: TenantId,
  signal: AbortSignal,
): Promise<void> {
  const tenant = await tenants.of(tenantId);
  for (const row of await tenant.shared((tx) => tx.query(listDueChecks, "due"))) {
    if (signal.aborted) return;
    const connection = openConnection(tenant.keys, row);
    const connector = connectors.of(connection.formula.id);
    const outcome = await connector.checkCredentials(connectors.contextOf(tenantId, connection));
    await tenant.ordinary(async (tx) => {
      const result = checkResult(row, outcome, tx.now);
      tx.enqueue(saveCredentialsCheck, result);
      if (result.check_due_at) scheduleDue(tx, { kind: "connection_check", at: result.check_due_at });
    });
  }
}

function checkResult(row: ConnectionRow, { kind }: CredentialsOutcome, now: Date) {
  const { id, revision } = row;
  if (kind === "accepted") return { id, revision, status: "available", checks: 0, check_due_at: null } as const;
  const checks = row.checks + 1;
  if (kind === "refused" || checks > MAX_CHECKS) {
    return { id, revision, status: "failed", checks, check_due_at: null } as const;
  }
  const delay = Math.min(FIRST_DELAY_MS * 2 ** row.checks, MAX_DELAY_MS);
  return { id, revision, status: "pending", checks, check_due_at: new Date(now.getTime() + delay) } as const;
}
