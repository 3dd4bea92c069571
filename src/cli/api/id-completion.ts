import type { CallOptions, Cloakroom } from "@cloakroom/client";
import { clientFor } from "./api-call.js";
import type { TypedArgument } from "./completion.js";
import { findCredentials } from "./credentials.js";

/** A shell waits for this. */
const TIMEOUT_MS = 1_000;
const MAX_IDS = 50;
/** Ids that every shell takes as one word without quotes. */
const PLAIN = /^\w[\w.@+,/-]{0,399}$/;

type List = (
  client: Cloakroom,
  options: CallOptions,
  before: readonly string[],
) => AsyncIterable<{ readonly id?: string }>;

const size = MAX_IDS;
/** The newest things of each kind, by the noun of their commands. */
const LISTS: Readonly<Record<string, List>> = {
  tokens: (client, options) => client.tokens.list({ size }, options),
  apps: (client, options) => client.applications.list({ size }, options),
  "app-keys": (client, options, [application = ""]) => client.applicationKeys.list(application, { size }, options),
  proxies: (client, options) => client.proxies.list({ size }, options),
  reactors: (client, options) => client.reactors.list({ size }, options),
  members: (client, options) => client.members.list({ size }, options),
  invitations: (client, options) => client.invitations.list({ size }, options),
  transactions: (client, options) => client.transactions.list({ size }, options),
};

/** Kinds of arguments that their names say. */
const KINDS: Readonly<Record<string, string>> = {
  APPLICATION: "apps",
  TOKEN: "tokens",
  KEY: "app-keys",
  TRANSACTION: "transactions",
};

/** Ids of the vault that complete an argument: the newest 50 at most, and none where the vault does not say in a second. */
export async function completeId({ command, before, start, options }: TypedArgument): Promise<readonly string[]> {
  const name = command.arguments?.[before.length]?.replace(/[[\]]/g, "") ?? "";
  const kind = name === "ID" ? (command.name.split(" ")[0] ?? "") : KINDS[name];
  const list = LISTS[kind ?? ""];
  if (!list) return [];
  try {
    await using client = clientFor(findCredentials({ url: options.get("url"), profile: options.get("profile") }));
    const found: string[] = [];
    let seen = 0;
    for await (const { id = "" } of list(client, { timeout: TIMEOUT_MS, maxRetries: 0 }, before)) {
      if (id.startsWith(start) && PLAIN.test(id)) found.push(id);
      seen += 1;
      if (seen >= MAX_IDS) break;
    }
    return found;
  } catch {
    // A message would appear in the middle of what the user types.
    return [];
  }
}
