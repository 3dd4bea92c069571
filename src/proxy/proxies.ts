import { isDeepStrictEqual } from "node:util";
import { changedAuthorship, newAuthorship } from "../access/authorship.js";
import type { Caller } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { requireMayChangeCode, requireMayReadRuns } from "../access/changed-code.js";
import { newKey } from "../access/key-text.js";
import { requirePower } from "../access/power.js";
import { requireOwn } from "../access/role-rights.js";
import { NamedEntities } from "../access/stored-entities.js";
import { changesBetween } from "../audit/log-changes.js";
import { invalid } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { requireApplication, requireGrantableActing } from "../functions/acting-application.js";
import { requireConfigurationSize } from "../functions/configuration.js";
import { type FailedRun, readFailedRuns } from "../functions/failed-runs.js";
import { openReactor, type Reactor } from "../reactors/reactor.js";
import { deleteFailedRuns } from "../store/functions/failed-runs.js";
import {
  deleteProxyRow,
  insertProxy,
  listProxyRows,
  lockProxy,
  namesOfProxies,
  type ProxyRow,
  readProxy,
  updateProxyRow,
} from "../store/functions/proxies.js";
import { lockReactor, readReactor } from "../store/functions/reactors.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { type ConfiguredProxy, openProxy, type ProxyDefinition, proxyColumns } from "./proxy.js";

export interface ProxyProperties {
  readonly name: string;
  readonly applicationId: Uuid | undefined;
  readonly requireAuth: boolean;
}

export const proxies = new NamedEntities<ProxyRow, ConfiguredProxy>({
  type: "proxy",
  plural: "proxies",
  read: readProxy,
  names: namesOfProxies,
  list: listProxyRows,
  remove: deleteProxyRow,
  open: ({ keys }, row) => openProxy(keys, row),
});

export async function createProxy(
  tx: OrdinaryCallerTransaction,
  properties: ProxyProperties,
  definition: ProxyDefinition,
): Promise<ConfiguredProxy> {
  requireConfigurationSize(definition.configuration);
  await Promise.all([
    requireApplication(tx, properties.applicationId),
    requireReactor(tx, "request_reactor_id", definition.requestReactorId),
    requireReactor(tx, "response_reactor_id", definition.responseReactorId),
  ]);
  await requireGrantableParts(tx, properties.applicationId, definition);
  const id = newUuid();
  const { text: key, hash } = newKey("prx", tx.tenantId, tx.keys);
  const { name, applicationId, requireAuth } = properties;
  const made = { id, name, key, definition, applicationId, requireAuth, revision: 1, ...newAuthorship(tx) };
  tx.enqueue(insertProxy, { ...proxyColumns(tx.keys, made), key_hash: hash, created_by: made.createdBy });
  tx.log("proxy", id, "create", { changes: changesBetween(undefined, loggedReach(made)) });
  return made;
}

/** Changes a proxy. What is in use anywhere is loaded again, since the tenant's revision rises. */
export async function updateProxy(
  tx: OrdinaryCallerTransaction,
  id: Uuid,
  change: (current: ConfiguredProxy) => ProxyProperties & { readonly definition: ProxyDefinition },
): Promise<ConfiguredProxy> {
  const row = proxies.present(await lockProxy(tx, id));
  requireOwn(tx.caller, row.created_by);
  const current = openProxy(tx.keys, row);
  const properties = change(current);
  if (!isRenamedOnly(current, properties)) requireMayChangeCode(tx.caller, "a proxy", row.created_by);
  const { configuration } = properties.definition;
  if (configuration !== current.definition.configuration) requireConfigurationSize(configuration);
  if (properties.applicationId !== current.applicationId) await requireApplication(tx, properties.applicationId);
  await requireNewReactors(tx, properties.definition, current.definition);
  await requireGrantableParts(tx, current.applicationId, current.definition);
  await requireGrantableParts(tx, properties.applicationId, properties.definition);
  const next = { ...current, ...properties, ...changedAuthorship(tx) };
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  const columns = proxyColumns(tx.keys, next);
  tx.enqueue(updateProxyRow, { ...columns, revision: row.revision, modified_by: next.modifiedBy });
  tx.log("proxy", id, "update", { changes: changesBetween(loggedReach(current), loggedReach(next)) });
  return next;
}

type Properties = ProxyProperties & Pick<ConfiguredProxy, "definition">;

function isRenamedOnly(before: Properties, after: Properties): boolean {
  const rest = ({ applicationId, requireAuth, definition }: Properties) => ({ applicationId, requireAuth, definition });
  return isDeepStrictEqual(rest(before), rest(after));
}

/** What the log shows of a proxy: what it acts as and where it sends, without code, path and configuration. */
function loggedReach({
  applicationId,
  requireAuth,
  definition,
}: Pick<ConfiguredProxy, "applicationId" | "requireAuth" | "definition">) {
  const { destinationUrl, requestReactorId, responseReactorId, disableDetokenization } = definition;
  const destinationHost = URL.parse(destinationUrl)?.host;
  return { applicationId, requireAuth, destinationHost, requestReactorId, responseReactorId, disableDetokenization };
}

/** A proxy changed elsewhere keeps a deleted reactor: its calls are refused, with the reason. */
async function requireNewReactors(tx: Transaction, next: ProxyDefinition, last: ProxyDefinition): Promise<void> {
  for (const [field, name] of [
    ["request_reactor_id", "requestReactorId"],
    ["response_reactor_id", "responseReactorId"],
  ] as const) {
    if (next[name] !== last[name]) await requireReactor(tx, field, next[name]);
  }
}

/**
 * Checks the rights of everything that a proxy acts with, for a person who writes it. Its reactors and applications stay
 * locked: who gives them more rights meanwhile waits, and then finds the proxy.
 * @throws {Fault} permission_denied.
 */
async function requireGrantableParts(
  tx: OrdinaryCallerTransaction,
  applicationId: Uuid | undefined,
  { requestReactorId, responseReactorId }: ProxyDefinition,
): Promise<void> {
  if (tx.caller.principal.kind !== "person") return;
  const reactorIds = [requestReactorId, responseReactorId].filter((id) => id !== undefined).sort();
  const applicationIds: (Uuid | null | undefined)[] = [applicationId];
  for (const id of reactorIds) {
    const row = await lockReactor(tx, id);
    if (row) requireMayRead(tx.caller, openReactor(tx.keys, row));
    applicationIds.push(row?.application_id);
  }
  for (const id of applicationIds) await requireGrantableActing(tx, id);
}

/**
 * Checks that a person may have what a reactor is configured with, such as a partner's credentials: its code may return them,
 * and a proxy sends what it returns where the proxy's author says.
 * @throws {Fault} second_factor_required or permission_denied.
 */
function requireMayRead(caller: Caller, { configuration, createdBy }: Reactor): void {
  const isOwn = caller.principal.kind === "person" && createdBy === caller.principal.userId;
  if (isOwn || Object.keys(configuration).length === 0) return;
  const what = "a proxy that runs a reactor with the configuration of somebody else";
  requirePower(caller, {
    needs: ["administer"],
    doing: `Creating or changing ${what}`,
    act: `create or change ${what}`,
  });
}

async function requireReactor(tx: Transaction, field: string, id: Uuid | undefined): Promise<void> {
  if (id !== undefined && !(await tx.query(readReactor, id))) throw invalid(field, "must be a reactor of this tenant");
}

/** Deletes a proxy; its key stops working everywhere at once. */
export async function deleteProxy(tx: CallerTransaction, id: Uuid): Promise<void> {
  const row = await proxies.find(tx, id);
  requireOwn(tx.caller, row.created_by);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  await proxies.delete(tx, id);
  tx.enqueue(deleteFailedRuns, id);
}

/** The failed runs of the proxy's transforms of the last day, newest first. */
export async function failedRunsOfProxy(tx: CallerTransaction, id: Uuid): Promise<readonly FailedRun[]> {
  const { created_by: createdBy } = await proxies.find(tx, id);
  requireMayReadRuns(tx.caller, createdBy);
  return readFailedRuns(tx, "proxy", id);
}
