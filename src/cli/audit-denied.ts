import { searchLog } from "../audit/follow/search-log.js";
import { systemClock } from "../base/clock.js";
import type { LogRow } from "../store/audit/log-listing.js";
import { readWindow, showCoverage, showRow } from "./audit-search.js";
import { chosenTenants } from "./chosen-tenants.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

const GROUPS: Readonly<Record<string, (row: LogRow) => string | null>> = {
  actor: ({ actor_id }) => actor_id,
  key: ({ key_id, entity_type, entity_id }) => key_id ?? (entity_type === "application_key" ? entity_id : null),
  address: ({ source_ip }) => source_ip,
  code: ({ code }) => code,
};

const SIGN_IN_TYPES: ReadonlySet<string> = new Set(["sign_in", "passkey"]);

export async function auditDenied({ config, options, say, printResult }: CommandInput): Promise<void> {
  const { limit, from, until } = readWindow(options, new Date(systemClock.now()), "24h");
  const by = options.by === undefined ? undefined : GROUPS[String(options.by)];
  if (options.by !== undefined && !by) throw new UsageError(`--by must be one of: ${Object.keys(GROUPS).join(", ")}.`);
  await using vault = await openForCommand({ config, say });
  const rows: Readonly<Record<string, unknown>>[] = [];
  const counts = new Map<string, number>();
  const coverages: Readonly<Record<string, unknown>>[] = [];
  let hasMore = false;
  for (const tenantId of await chosenTenants(vault, options)) {
    const filter = { outcome: "denied", from, until };
    const found = await searchLog(vault, tenantId, {
      filter,
      isWanted: ({ entity_type }) => options["sign-ins"] !== true || SIGN_IN_TYPES.has(entity_type),
      limit,
      remark: "denied requests",
    });
    hasMore ||= found.hasMore;
    if (found.rows.length > 0) coverages.push(showCoverage(tenantId, found.coverage, found.rows));
    for (const row of found.rows) {
      const group = by?.(row) ?? "(none)";
      counts.set(group, (counts.get(group) ?? 0) + 1);
      if (!by) rows.push(showRow(tenantId, row));
    }
  }
  const grouped = [...counts].toSorted(([, one], [, other]) => other - one);
  const found = by ? { counts: grouped.map(([group, count]) => ({ [String(options.by)]: group, count })) } : { rows };
  printResult({ ...found, complete: !hasMore, worth: coverages });
}
