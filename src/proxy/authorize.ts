import { actorOf } from "../access/caller.js";
import { Refused, refuse, refuseWith } from "../access/refusal.js";
import { ALL, logEntry } from "../audit/log-entry.js";
import { Fault } from "../base/fault.js";
import { type RequestMemory, UNCOUNTED } from "../memory/memory-lease.js";
import { writeLog } from "../store/audit-logs.js";
import type { Database } from "../store/database.js";
import type { Transaction } from "../store/transaction.js";
import { findTokens } from "../tokens/detokenize.js";
import type { ReadableToken } from "../tokens/read.js";
import type { Route } from "./route.js";

/**
 * Turns away, with its row in the log, who may not call at all. It is asked before anything of a body is read: whoever has
 * the key of a page, which may do nothing here, could else have the server hold 5 MB for each of its requests.
 * @throws {Fault} permission_denied; {StaleAuthorization}.
 */
export async function requireRight(database: Database, route: Route): Promise<void> {
  if (barOf(route)) await authorize(database, route, [], UNCOUNTED);
}

/**
 * Checks rights, finds the tokens and writes the log rows, all in one transaction.
 * @throws {Fault} permission_denied, or validation_failed for tokens that do not exist; {StaleAuthorization}.
 */
export async function authorize(
  database: Database,
  route: Route,
  ids: readonly string[],
  memory: RequestMemory,
): Promise<ReadonlyMap<string, ReadableToken>> {
  const { tenantId, caller, proxy, revision } = route;
  const bar = barOf(route) ?? barToTokens(route, ids);
  const found = await database.fast.run(tenantId, revision, async (tx) => {
    if (bar) return bar(tx);
    const tokens = caller
      ? await findTokens(tx, caller, ids, "token:use", "use", memory)
      : new Map<string, ReadableToken>();
    if (tokens instanceof Refused) return tokens;
    const actor = caller ? actorOf(caller) : undefined;
    writeLog(tx, logEntry(actor, "proxy", proxy?.proxy.id ?? ALL, "invoke", proxy ? undefined : "ephemeral"));
    return tokens;
  });
  if (found instanceof Refused) throw found.fault;
  return found;
}

/** Refuses a call in its transaction, which guards the rights that it is refused for. */
type Bar = (tx: Transaction) => Refused;

/** What stands against a call whatever it holds. */
function barOf({ caller, proxy }: Route): Bar | undefined {
  if (proxy && !proxy.proxy.requireAuth) return undefined;
  if (!caller) {
    const fault = new Fault("unauthenticated", "Send an application key in the header BT-API-KEY.");
    return () => new Refused(fault);
  }
  if (!caller.grant.holds("token:use")) return (tx) => refuse(tx, caller, "token:use", "proxy", proxy?.proxy.id ?? ALL);
  if (proxy || !caller.settings.disable_ephemeral_proxy) return undefined;
  const fault = new Fault("permission_denied", "This tenant does not allow ephemeral proxies.");
  return (tx) => refuseWith(tx, caller, fault, "proxy", ALL, "ephemeral");
}

/** What stands against tokens in an anonymous call: there is nobody whose rights it could use. */
function barToTokens({ caller }: Route, ids: readonly string[]): Bar | undefined {
  if (ids.length === 0 || caller) return undefined;
  const fault = new Fault(
    "permission_denied",
    "This proxy takes calls without a key and has no application, so that it may not use tokens.",
  );
  return () => new Refused(fault);
}
