import { HOUR_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { Database } from "../../store/database.js";
import { scheduleDue } from "../../store/jobs/due.js";
import { type ConnectionRow, listDueChecks, saveCredentialsCheck } from "../../store/payments/connections.js";
import type { Keyring } from "../../tenancy/keyring.js";
import type { CredentialsOutcome } from "../contract/outcome.js";
import { openConnection } from "./connection.js";
import type { Connectors } from "./connectors.js";

export interface CheckParts {
  readonly database: Database;
  readonly keyring: Keyring;
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
  { database, keyring, connectors }: CheckParts,
  tenantId: TenantId,
  signal: AbortSignal,
): Promise<void> {
  const rows = await database.of(tenantId).shared((tx) => tx.query(listDueChecks, "due"));
  const keys = rows.length > 0 ? await keyring.of(tenantId) : undefined;
  for (const row of rows) {
    if (signal.aborted || !keys) return;
    const connection = openConnection(keys, row);
    const connector = connectors.of(connection.formula.id);
    const outcome = await connector.checkCredentials(connectors.contextOf(tenantId, connection));
    await database.of(tenantId).ordinary(async (tx) => {
      const result = resultOf(row, outcome, tx.now);
      tx.enqueue(saveCredentialsCheck, result);
      if (result.check_due_at) scheduleDue(tx, { kind: "connection_check", at: result.check_due_at });
    });
  }
}

function resultOf(row: ConnectionRow, { kind }: CredentialsOutcome, now: Date) {
  const { id, revision } = row;
  if (kind === "accepted") return { id, revision, status: "available", checks: 0, check_due_at: null } as const;
  const checks = row.checks + 1;
  if (kind === "refused" || checks > MAX_CHECKS) {
    return { id, revision, status: "failed", checks, check_due_at: null } as const;
  }
  const delay = Math.min(FIRST_DELAY_MS * 2 ** row.checks, MAX_DELAY_MS);
  return { id, revision, status: "pending", checks, check_due_at: new Date(now.getTime() + delay) } as const;
}
