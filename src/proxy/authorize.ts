import { actorOf } from "../access/caller.js";
import { Refused, refuse } from "../access/refusal.js";
import { ALL, logEntry } from "../audit/log-entry.js";
import { Fault } from "../base/fault.js";
import { writeLog } from "../store/audit-logs.js";
import type { Database } from "../store/database.js";
import type { Transaction } from "../store/transaction.js";
import { findTokens } from "../tokens/detokenize.js";
import type { ReadableToken } from "../tokens/read.js";
import type { Route } from "./route.js";

/**
 * Checks rights, finds the tokens and writes the log rows, all in one transaction.
 * @throws {Fault} permission_denied, or validation_failed for tokens that do not exist; {StaleAuthorization}.
 */
export async function authorize(
  database: Database,
  route: Route,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReadableToken>> {
  const { tenantId, caller, proxy, revision } = route;
  const found = await database.fast.run(tenantId, revision, async (tx) => {
    const refusal = refusalOf(tx, route, ids);
    if (refusal) return refusal;
    const tokens = caller ? await findTokens(tx, caller, ids, "token:use", "use") : new Map<string, ReadableToken>();
    if (tokens instanceof Refused) return tokens;
    const actor = caller ? actorOf(caller) : undefined;
    writeLog(tx, logEntry(actor, "proxy", proxy?.proxy.id ?? ALL, "invoke", proxy ? undefined : "ephemeral"));
    return tokens;
  });
  if (found instanceof Refused) throw found.fault;
  return found;
}

function refusalOf(tx: Transaction, { caller, proxy }: Route, ids: readonly string[]): Refused | undefined {
  const isAnonymous = proxy !== undefined && !proxy.proxy.requireAuth;
  if (isAnonymous) {
    if (ids.length === 0 || caller) return undefined;
    return new Refused(
      new Fault(
        "permission_denied",
        "This proxy takes calls without a key and has no application, so that it may not use tokens.",
      ),
    );
  }
  if (!caller) return new Refused(new Fault("unauthenticated", "Send an application key in the header BT-API-KEY."));
  if (!caller.grant.holds("token:use")) return refuse(tx, caller, "token:use", "proxy", proxy?.proxy.id ?? ALL);
  if (!proxy && caller.settings.disable_ephemeral_proxy) {
    return new Refused(new Fault("permission_denied", "This tenant does not allow ephemeral proxies."));
  }
  return undefined;
}
