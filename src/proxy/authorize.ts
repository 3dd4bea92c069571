import { type Caller, loggedActor } from "../access/caller.js";
import { Denied, denied, deniedWith, recordingDenials } from "../access/refusal.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { type TenantTransaction, tenantTransaction } from "../audit/tenant-transaction.js";
import { Fault } from "../base/fault.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { RequestMemory } from "../memory/request-memory.js";
import type { Database } from "../store/database.js";
import { type DeniedToken, findTokensAs } from "../tokens/detokenize.js";
import type { ReadableToken } from "../tokens/read.js";
import type { Route } from "./route.js";

/** The database, and the keys of the tenant that a route belongs to. */
interface KeyedDatabase {
  readonly database: Database;
  readonly keys: TenantKeys;
}

/**
 * Refuses a caller without any right to call, with a row in the log. Runs before any of the body is read: otherwise a
 * page's key without rights could make the server hold 5 MB for each request.
 * @throws {Fault} permission_denied; {StaleAuthorization}.
 */
export async function requireRight(vault: KeyedDatabase, route: Route): Promise<void> {
  if (barOf(route)) await authorize(vault, route, []);
}

/** Refuses a call for its reason, with a row in the log. @throws {Fault} that one; {StaleAuthorization}. */
export async function refuseReason(
  database: Database,
  { tenantId, context, revision, ...route }: Route,
  fault: Fault,
): Promise<never> {
  const invoker = route.caller ?? route.application;
  const actor = invoker && loggedActor(invoker);
  const details = { actor, remark: "reason", outcome: "denied", code: fault.code, context } as const;
  const entry = logEntry("proxy", route.proxy?.proxy.id ?? ANY_ENTITY_ID, "refuse", details);
  const refusal = new Denied(tenantId, fault, entry);
  return recordingDenials(database, () =>
    database.of(tenantId, { revision }).shared(async (): Promise<never> => {
      throw refusal;
    }),
  );
}

/**
 * Checks rights, loads the tokens and writes the log rows, in one transaction.
 * @throws {Fault} permission_denied, or validation_failed for tokens that do not exist; {StaleAuthorization}.
 */
export async function authorize(
  { database, keys }: KeyedDatabase,
  route: Route,
  ids: readonly string[],
  memory?: RequestMemory,
): Promise<ReadonlyMap<string, ReadableToken>> {
  const { tenantId, caller, application, proxy, revision } = route;
  const bar = barOf(route);
  return recordingDenials(database, () =>
    database.of(tenantId, { revision, memory }).shared(async (shared) => {
      if (bar) throw bar;
      const tx = tenantTransaction(shared, keys);
      const tokens = await useTokens(tx, route, ids);
      const invoker = caller ?? application;
      const remark = proxy ? undefined : "ephemeral";
      const details = { actor: invoker && loggedActor(invoker), remark, context: route.context };
      const entry = logEntry("proxy", proxy?.proxy.id ?? ANY_ENTITY_ID, "invoke", details);
      // The invoker's revision guards the transaction, and the webhooks with it: without one, no statement is needed.
      const isSent = !invoker || invoker.eventTypes.some((type) => type === entry.event);
      tx.record(isSent ? entry : { ...entry, event: undefined });
      return tokens;
    }),
  );
}

/** Why a call is refused, whatever it holds. Thrown in a transaction, which guards the rights that it is refused for. */
function barOf({ caller, proxy }: Route): Denied | Fault | undefined {
  if (proxy && !proxy.proxy.requireAuth) return undefined;
  if (!caller) {
    return new Fault("unauthenticated", "Send an application key in the header BT-API-KEY.");
  }
  if (!caller.grant.holds("token:use")) return denied(caller, "token:use", "proxy", proxy?.proxy.id ?? ANY_ENTITY_ID);
  if (proxy || !caller.settings.disable_ephemeral_proxy) return undefined;
  const fault = new Fault("permission_denied", "This tenant does not allow ephemeral proxies.");
  return deniedWith(caller, fault, "ephemeral", { type: "proxy", id: ANY_ENTITY_ID });
}

/** Loads tokens under the caller's rights, or else under those of the proxy's application. */
async function useTokens(
  tx: TenantTransaction,
  route: Route,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReadableToken>> {
  if (ids.length === 0) return new Map();
  const [first, ...others] = [route.caller, route.application].filter((candidate) => candidate !== undefined);
  if (!first) throw new Fault("permission_denied", NO_RIGHTS);
  const found = await findTokensAs(tx, [first, ...others], ids, "use");
  if ("denied" in found) throw deniedTokens(route, found, others.at(-1) ?? first);
  return found.tokens;
}

const NO_RIGHTS =
  "References need rights: send a BT-API-KEY whose application has token:use, or give this proxy an application that has it.";

/** Names whose rights are missing: a caller can fix its own, the proxy's owner those of the proxy's application. */
function deniedTokens({ caller, application }: Route, { denied: token }: DeniedToken, last: Caller): Denied {
  if (!application) return denied(last, "token:use", token.type, token.id);
  const text = caller
    ? "Neither the key used nor the application of this proxy has token:use for this container."
    : "The application of this proxy lacks token:use for this container.";
  const fault = new Fault("permission_denied", text);
  return deniedWith(caller ?? last, fault, "token:use", token);
}
