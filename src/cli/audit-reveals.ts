import { systemClock } from "../base/clock.js";
import { parseUuid, type Uuid } from "../base/ids.js";
import { readGroup, rowsOrCounts } from "./audit-groups.js";
import { readWindow } from "./audit-search.js";
import type { CommandInput } from "./operator-command.js";
import { searchTenants } from "./search-tenants.js";
import { UsageError } from "./usage-error.js";

export async function auditReveals(input: CommandInput): Promise<void> {
  const { options } = input;
  const { limit, from, until } = readWindow(options, new Date(systemClock.now()), "7d");
  const by = readGroup(options, ["actor", "key", "address", "day"]);
  const actorType = options.people === true ? "user" : undefined;
  const filter = { transform: "reveal", actorType, actorId: readActor(options.actor), from, until };
  const { rows, proof } = await searchTenants(input, (search) =>
    search({ filter, isWanted: () => true, limit, remark: "values shown in the clear" }),
  );
  input.printResult({ ...rowsOrCounts(rows, by), ...proof });
}

function readActor(text: string | boolean | undefined): Uuid | undefined {
  if (text === undefined) return undefined;
  const id = parseUuid(String(text));
  if (!id) throw new UsageError("--actor must be the id of an application or a person.");
  return id;
}
