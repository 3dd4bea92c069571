import { systemClock } from "../base/clock.js";
import { readGroup, rowsOrCounts } from "./audit-groups.js";
import { readWindow } from "./audit-search.js";
import type { CommandInput } from "./operator-command.js";
import { searchTenants } from "./search-tenants.js";

const SIGN_IN_TYPES: ReadonlySet<string> = new Set(["sign_in", "passkey"]);

export async function auditDenied(input: CommandInput): Promise<void> {
  const { options } = input;
  const { limit, from, until } = readWindow(options, new Date(systemClock.now()), "24h");
  const by = readGroup(options, ["actor", "key", "address", "code", "day"]);
  const filter = { outcome: "denied", from, until };
  const isWanted = ({ entity_type }: { readonly entity_type: string }) =>
    options["sign-ins"] !== true || SIGN_IN_TYPES.has(entity_type);
  const { rows, proof } = await searchTenants(input, (search) =>
    search({ filter, isWanted, limit, remark: "denied requests" }),
  );
  input.printResult({ ...rowsOrCounts(rows, by), ...proof });
}
