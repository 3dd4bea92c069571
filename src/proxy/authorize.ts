import { actorOf, type Caller } from "../access/caller.js";
import { Refused, refuse, refuseWith } from "../access/refusal.js";
import { ALL, logEntry } from "../audit/log-entry.js";
import { Fault } from "../base/fault.js";
import { type RequestMemory, UNCOUNTED } from "../memory/memory-lease.js";
import { writeLog } from "../store/audit-logs.js";
import type { Database } from "../store/database.js";
import type { Transaction } from "../store/transaction.js";
import { type DeniedToken, findTokensAs } from "../tokens/detokenize.js";
import type { ReadableToken } from "../tokens/read.js";
import type { Route } from "./route.js";

/**
 * Refuses a caller without any right to call, with a row in the log. Runs before any of the body is read: otherwise a
 * page's key without rights could make the server hold 5 MB for each request.
 * @throws {Fault} permission_denied; {StaleAuthorization}.
 */
export async function requireRight(database: Database, route: Route): Promise<void> {
  if (barOf(route)) await authorize(database, route, [], UNCOUNTED);
}

/**
 * Checks rights, loads the tokens and writes the log rows, in one transaction.
 * @throws {Fault} permission_denied, or validation_failed for tokens that do not exist; {StaleAuthorization}.
 */
export async function authorize(
  database: Database,
  route: Route,
  ids: readonly string[],
  memory: RequestMemory,
): Promise<ReadonlyMap<string, ReadableToken>> {
  const { tenantId, caller, application, proxy, revision } = route;
  const bar = barOf(route);
  const found = await database.fast.run(tenantId, revision, async (tx) => {
    if (bar) return bar(tx);
    const tokens = await useTokens(tx, route, ids, memory);
    if (tokens instanceof Refused) return tokens;
    const invoker = caller ?? application;
    const actor = invoker && actorOf(invoker);
    writeLog(tx, logEntry(actor, "proxy", proxy?.proxy.id ?? ALL, "invoke", proxy ? undefined : "ephemeral"));
    return tokens;
  });
  if (found instanceof Refused) throw found.fault;
  return found;
}

/** Refuses a call in the transaction that guards the rights behind the refusal. */
type Bar = (tx: Transaction) => Refused;

/** Why the caller may not call at all, whatever the request. */
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

/** Loads tokens under the caller's rights, or else under those of the proxy's application. */
async function useTokens(
  tx: Transaction,
  route: Route,
  ids: readonly string[],
  memory: RequestMemory,
): Promise<ReadonlyMap<string, ReadableToken> | Refused> {
  if (ids.length === 0) return new Map();
  const [first, ...others] = [route.caller, route.application].filter((candidate) => candidate !== undefined);
  if (!first) return new Refused(new Fault("permission_denied", NO_RIGHTS));
  const found = await findTokensAs(tx, [first, ...others], ids, "token:use", "use", memory);
  if (found instanceof Refused) return found;
  return "denied" in found ? refuseTokens(tx, route, found, others.at(-1) ?? first) : found.tokens;
}

const NO_RIGHTS =
  "References need rights: send a BT-API-KEY whose application has token:use, or give this proxy an application that has it.";

/** Names whose rights are missing: a caller can fix its own, the proxy's owner those of the proxy's application. */
function refuseTokens(tx: Transaction, { caller, application }: Route, { denied }: DeniedToken, last: Caller): Refused {
  if (!application) return refuse(tx, last, "token:use", denied.type, denied.id);
  const text = caller
    ? "Neither the key used nor the application of this proxy has token:use for this container."
    : "The application of this proxy lacks token:use for this container.";
  const fault = new Fault("permission_denied", text);
  return refuseWith(tx, caller ?? last, fault, denied.type, denied.id, "token:use");
}
