import { searchLog } from "../audit/search-log.js";
import { systemClock } from "../base/clock.js";
import { openVault } from "../vault/vault.js";
import { readWindow, SEARCH_HELP, SEARCH_OPTIONS, showCoverage, showRow } from "./audit-search.js";
import { chosenTenants } from "./chosen-tenants.js";
import type { Command } from "./operator-command.js";

/** Operations that show a token or send it on. Rows about entities of one id may be of any entity type. */
const READING = ["read", "use", "replay"];

export const auditWhoRead: Command = {
  summary: "List who read or used a token, when, how it was shown, from where and why",
  operands: ["TOKEN"],
  options: SEARCH_OPTIONS,
  help: SEARCH_HELP,
  async run({ config, options, operands, say, printResult }) {
    const [entityId = ""] = operands;
    const { limit, from, until } = readWindow(options, new Date(systemClock.now()));
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const rows: Readonly<Record<string, unknown>>[] = [];
    const coverages: Readonly<Record<string, unknown>>[] = [];
    let hasMore = false;
    for (const tenantId of await chosenTenants(vault, options)) {
      const isWanted = ({ operation }: { readonly operation: string }) => READING.includes(operation);
      const search = { filter: { entityId, from, until }, isWanted, limit, remark: "who read a token" };
      const found = await searchLog(vault, tenantId, search);
      rows.push(...found.rows.map((row) => showRow(tenantId, row)));
      hasMore ||= found.hasMore;
      if (found.rows.length > 0) coverages.push(showCoverage(tenantId, found.coverage, found.rows));
    }
    printResult({ rows, complete: !hasMore, worth: coverages });
  },
};
