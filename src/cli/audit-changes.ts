import { systemClock } from "../base/clock.js";
import { readWindow, showRow } from "./audit-search.js";
import type { CommandInput } from "./operator-command.js";
import { searchTenants } from "./search-tenants.js";

/** What has rights, roles or settings, whose changes are in the rows. The index on types finds them. */
const CHANGED_TYPES = ["application", "invitation", "member", "proxy", "reactor", "tenant", "webhook"];

export async function auditChanges(input: CommandInput): Promise<void> {
  const { limit, from, until } = readWindow(input.options, new Date(systemClock.now()), "30d");
  const [entityId] = input.operands;
  const { rows, proof } = await searchTenants(input, (search) =>
    search({
      filter: { entityTypes: CHANGED_TYPES, entityId, from, until },
      isWanted: ({ changes }) => changes !== null,
      limit,
      remark: "changes of rights, roles and settings",
    }),
  );
  input.printResult({ rows: rows.map(showRow), ...proof });
}
