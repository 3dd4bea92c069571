import { searchLog } from "../audit/follow/search-log.js";
import { systemClock } from "../base/clock.js";
import { parseUuid, type Uuid } from "../base/ids.js";
import type { LogRow } from "../store/audit/log-listing.js";
import type { Vault } from "../vault/vault.js";
import { readWindow, showCoverage, showRow, type Window } from "./audit-search.js";
import { chosenTenants } from "./chosen-tenants.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

export async function auditWhatDid({ config, options, operands, say, printResult }: CommandInput): Promise<void> {
  const id = parseUuid(operands[0] ?? "");
  if (!id) throw new UsageError("ID must be the id of an application, a person, a key or a session.");
  const window = readWindow(options, new Date(systemClock.now()), "30d");
  await using vault = await openForCommand({ config, say });
  const { rows, hasMore, coverages } = await collect(vault, options, id, window);
  printResult({
    days: byDay(rows.map(({ row }) => row)),
    ...(options.rows === true ? { rows: rows.map(({ tenantId, row }) => showRow(tenantId, row)) } : {}),
    complete: !hasMore,
    worth: coverages,
  });
}

async function collect(vault: Vault, options: CommandInput["options"], id: Uuid, { from, until, limit }: Window) {
  const rows: { readonly tenantId: Parameters<typeof showRow>[0]; readonly row: LogRow }[] = [];
  const coverages: Readonly<Record<string, unknown>>[] = [];
  let hasMore = false;
  for (const tenantId of await chosenTenants(vault, options)) {
    const ask = { isWanted: () => true, limit, remark: "what an actor or key did" };
    const asActor = await searchLog(vault, tenantId, { ...ask, filter: { actorId: id, from, until } });
    // Keys and sessions have no index: the window bounds the search.
    const found =
      asActor.rows.length > 0
        ? asActor
        : await searchLog(vault, tenantId, { ...ask, filter: { keyId: id, from, until } });
    rows.push(...found.rows.map((row) => ({ tenantId, row })));
    hasMore ||= found.hasMore;
    if (found.rows.length > 0) coverages.push(showCoverage(tenantId, found.coverage, found.rows));
  }
  return { rows, hasMore, coverages };
}

/** Counts for each day, newest first. */
function byDay(rows: readonly LogRow[]): readonly Readonly<Record<string, unknown>>[] {
  const days = Map.groupBy(rows, ({ created_at }) => created_at.toISOString().slice(0, 10));
  return [...days].map(([day, own]) => {
    const count = (isCounted: (row: LogRow) => boolean) => own.filter(isCounted).length;
    const tokens = own.filter(({ transform }) => transform !== null).map(({ entity_id }) => entity_id);
    return {
      day,
      rows: own.length,
      created: count(({ operation }) => operation === "create"),
      revealed: count(({ transform }) => transform === "reveal"),
      masked: count(({ transform }) => transform === "mask"),
      denied: count(({ outcome }) => outcome === "denied"),
      distinct_tokens: new Set(tokens).size,
    };
  });
}
