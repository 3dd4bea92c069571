import { systemClock } from "../base/clock.js";
import { parseUuid } from "../base/ids.js";
import type { LogRow } from "../store/audit/log-listing.js";
import { readWindow, showRow } from "./audit-search.js";
import type { CommandInput } from "./operator-command.js";
import { searchTenants } from "./search-tenants.js";
import { UsageError } from "./usage-error.js";

export async function auditWhatDid(input: CommandInput): Promise<void> {
  const id = parseUuid(input.operands[0] ?? "");
  if (!id) throw new UsageError("ID must be the id of an application, a person, a key or a session.");
  const { from, until, limit } = readWindow(input.options, new Date(systemClock.now()), "30d");
  const { rows, proof } = await searchTenants(input, async (search) => {
    const wanted = { isWanted: () => true, limit, remark: "what an actor or key did" };
    const asActor = await search({ ...wanted, filter: { actorId: id, from, until } });
    // Most ids are of actors: a key is looked up only where no actor has the id.
    return asActor.rows.length > 0 ? asActor : search({ ...wanted, filter: { keyId: id, from, until } });
  });
  input.printResult({
    days: byDay(rows.map(({ row }) => row)),
    ...(input.options.rows === true ? { rows: rows.map(showRow) } : {}),
    ...proof,
  });
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
