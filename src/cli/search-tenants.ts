import { type LogQueryResult, type LogSearch, searchLog } from "../audit/follow/search-log.js";
import { type FoundRow, showCoverage } from "./audit-search.js";
import { chosenTenants } from "./chosen-tenants.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";

export interface FoundRows {
  readonly rows: readonly FoundRow[];
  /** What every command about the log prints beside its rows. */
  readonly proof: {
    /** False if the limit left rows off. */
    readonly complete: boolean;
    readonly worth: readonly Readonly<Record<string, unknown>>[];
  };
}

type Search = (search: LogSearch) => Promise<LogQueryResult>;

/** Asks the log of each chosen tenant. `ask` may search a log more than once. */
export async function searchTenants(
  { config, options, say }: CommandInput,
  ask: (search: Search) => Promise<LogQueryResult>,
): Promise<FoundRows> {
  await using vault = await openForCommand({ config, say });
  const rows: FoundRow[] = [];
  const worth: Readonly<Record<string, unknown>>[] = [];
  let complete = true;
  for (const tenantId of await chosenTenants(vault, options)) {
    const found = await ask((search) => searchLog(vault, tenantId, search));
    rows.push(...found.rows.map((row) => ({ tenantId, row })));
    if (found.hasMore) complete = false;
    if (found.rows.length > 0) worth.push(showCoverage(tenantId, found.coverage, found.rows));
  }
  return { rows, proof: { complete, worth } };
}
