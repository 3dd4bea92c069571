import { systemClock } from "../base/clock.js";
import { readWindow, showRow } from "./audit-search.js";
import type { CommandInput } from "./operator-command.js";
import { searchTenants } from "./search-tenants.js";

/** Operations that show a token or send it on. Rows about entities of one id may be of any entity type. */
const READING = ["read", "use", "replay"];

export async function auditWhoRead(input: CommandInput): Promise<void> {
  const [entityId = ""] = input.operands;
  const { limit, from, until } = readWindow(input.options, new Date(systemClock.now()));
  const isWanted = ({ operation }: { readonly operation: string }) => READING.includes(operation);
  const { rows, proof } = await searchTenants(input, (search) =>
    search({ filter: { entityId, from, until }, isWanted, limit, remark: "who read a token" }),
  );
  input.printResult({ rows: rows.map(showRow), ...proof });
}
