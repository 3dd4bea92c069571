import { searchLog } from "../audit/follow/search-log.js";
import { systemClock } from "../base/clock.js";
import { readWindow, showCoverage, showRow } from "./audit-search.js";
import { chosenTenants } from "./chosen-tenants.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";

/** Operations that show a token or send it on. Rows about entities of one id may be of any entity type. */
const READING = ["read", "use", "replay"];

export async function auditWhoRead({ config, options, operands, say, printResult }: CommandInput): Promise<void> {
  const [entityId = ""] = operands;
  const { limit, from, until } = readWindow(options, new Date(systemClock.now()));
  await using vault = await openForCommand({ config, say });
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
}
