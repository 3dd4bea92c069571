import { verifyVault } from "../audit/verify-vault.js";
import { systemClock } from "../base/clock.js";
import { VAULT_TENANT_ID } from "../base/ids.js";
import { listLogRows } from "../store/audit/log-listing.js";
import { readLogSnapshot } from "../store/audit/log-snapshot.js";
import { openVault } from "../vault/vault.js";
import { readWindow, SEARCH_HELP, SEARCH_OPTIONS, showRow } from "./audit-search.js";
import type { Command } from "./operator-command.js";

const { tenant: _, ...OPTIONS } = SEARCH_OPTIONS;

export const auditOperations: Command = {
  summary: "List what concerned the whole vault: starts and stops of servers, tenants, root keys, exports",
  options: OPTIONS,
  help: SEARCH_HELP.filter((line) => !line.startsWith("--tenant")),
  async run({ config, options, say, printResult }) {
    const { from, until, limit } = readWindow(options, new Date(systemClock.now()));
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const listing = { from, until, after: undefined, offset: 0, limit: limit + 1 };
    const found = await vault.database.bulk.run(VAULT_TENANT_ID, "unguarded", (tx) => tx.query(listLogRows, listing));
    const keys = await vault.keyring.of(VAULT_TENANT_ID);
    const { findingCount } = await readLogSnapshot(vault.address, VAULT_TENANT_ID, (snapshot) =>
      verifyVault(snapshot, keys),
    );
    const rows = found.slice(0, limit).map((row) => showRow(VAULT_TENANT_ID, row));
    printResult({
      rows: rows.map(({ tenant_id: _tenant, ...row }) => row),
      complete: found.length <= limit,
      chain: findingCount === 0 ? "whole" : "tampered with",
      verify: "cloakroom audit verify",
    });
  },
};
