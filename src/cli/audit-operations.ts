import { systemClock } from "../base/clock.js";
import { VAULT_TENANT_ID } from "../base/ids.js";
import { listLogRows } from "../store/audit/log-listing.js";
import { readWindow, showRow } from "./audit-search.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";
import { vaultVerdict } from "./vault-verdict.js";

export async function auditOperations({ config, options, say, printResult }: CommandInput): Promise<void> {
  const { from, until, limit } = readWindow(options, new Date(systemClock.now()));
  await using vault = await openForCommand({ config, say });
  const listing = { from, until, after: undefined, offset: 0, limit: limit + 1 };
  const found = await vault.database.of(VAULT_TENANT_ID).bulk((tx) => tx.query(listLogRows, listing));
  const { findingCount } = await vaultVerdict(vault);
  const rows = found.slice(0, limit).map((row) => showRow({ tenantId: VAULT_TENANT_ID, row }));
  printResult({
    rows: rows.map(({ tenant_id: _tenant, ...row }) => row),
    complete: found.length <= limit,
    chain: findingCount === 0 ? "whole" : "tampered with",
    verify: "cloakroom audit verify",
  });
}
