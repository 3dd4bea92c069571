import { systemClock } from "../base/clock.js";
import { parseUuid, type Uuid } from "../base/ids.js";
import type { LogRow } from "../store/audit/log-listing.js";
import { readGroup, rowsOrCounts } from "./audit-groups.js";
import { readWindow, showRow } from "./audit-search.js";
import type { CommandInput } from "./operator-command.js";
import { searchTenants } from "./search-tenants.js";
import { UsageError } from "./usage-error.js";

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
