import { actorOf, type Caller } from "../access/caller.js";
import { newKey } from "../access/key-text.js";
import { requireOwn } from "../access/role-rights.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { invalid, notFound } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { type Page, type PageRequest, requirePageSize } from "../base/page.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { requireApplication, requireGrantableActing } from "../functions/acting-application.js";
import { requireConfigurationSize } from "../functions/configuration.js";
import { type FailedRun, readFailedRuns } from "../functions/failed-runs.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { deleteFailedRuns } from "../store/functions/failed-runs.js";
import {
  deleteProxyRow,
  insertProxy,
  listProxyRows,
  lockProxy,
  namesOfProxies,
  readProxy,
  updateProxyRow,
} from "../store/functions/proxies.js";
import { readReactor } from "../store/functions/reactors.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { listByName } from "../tenancy/name-search.js";
import { type ConfiguredProxy, openProxy, type ProxyDefinition, proxyRowOf } from "./proxy.js";

/** The properties of a proxy beside its definition. */
export interface ProxyProperties {
  readonly name: string;
  readonly applicationId: Uuid | undefined;
  readonly requireAuth: boolean;
}

export async function createProxy(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  properties: ProxyProperties,
  definition: ProxyDefinition,
): Promise<ConfiguredProxy> {
  requireConfigurationSize(definition.configuration);
  await Promise.all([
    requireApplication(tx, properties.applicationId),
    requireReactor(tx, "request_reactor_id", definition.requestReactorId),
    requireReactor(tx, "response_reactor_id", definition.responseReactorId),
  ]);
  await requireGrantableParts(tx, caller, keys, properties.applicationId, definition);
  const id = newUuid();
  const { text: key, hash } = newKey("prx", tx.tenantId);
  const { name, applicationId, requireAuth } = properties;
  const createdBy = actorOf(caller).id;
  const made = { id, name, key, definition, applicationId, requireAuth };
  tx.enqueue(insertProxy, { ...proxyRowOf(keys, tx.tenantId, made), key_hash: hash, created_by: createdBy });
  writeLog(tx, logEntry(actorOf(caller), "proxy", id, "create"));
  const times = { createdBy, createdAt: tx.now, modifiedBy: null, modifiedAt: null };
  return { ...made, revision: 1, ...times };
}

export async function getProxy(tx: Transaction, caller: Caller, keys: TenantKeys, id: Uuid): Promise<ConfiguredProxy> {
  const row = await tx.query(readProxy, id);
  if (!row) throw notFound("proxy");
  writeLog(tx, logEntry(actorOf(caller), "proxy", id, "read"));
  return openProxy(keys, tx.tenantId, row);
}

export async function listProxies(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  { name, ...listing }: PageRequest & { readonly ids: readonly Uuid[]; readonly name: string | undefined },
): Promise<Page<ConfiguredProxy>> {
  const { items, total, bytes } =
    name === undefined
      ? await tx.query(listProxyRows, listing)
      : await listByName(tx, keys, { names: namesOfProxies, read: readProxy }, { ...listing, name });
  requirePageSize("proxies", bytes);
  writeLog(tx, logEntry(actorOf(caller), "proxy", ANY_ENTITY_ID, "list"));
  return { items: items.map((row) => openProxy(keys, tx.tenantId, row)), total };
}

/** Changes a proxy. What is in use anywhere is loaded again, since the tenant's revision rises. */
export async function updateProxy(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  change: (current: ConfiguredProxy) => ProxyProperties & { readonly definition: ProxyDefinition },
): Promise<ConfiguredProxy> {
  const row = await lockProxy(tx, id);
  if (!row) throw notFound("proxy");
  requireOwn(caller, row.created_by);
  const current = openProxy(keys, tx.tenantId, row);
  const properties = change(current);
  const { configuration } = properties.definition;
  if (configuration !== current.definition.configuration) requireConfigurationSize(configuration);
  if (properties.applicationId !== current.applicationId) await requireApplication(tx, properties.applicationId);
  await requireNewReactors(tx, properties.definition, current.definition);
  await requireGrantableParts(tx, caller, keys, current.applicationId, current.definition);
  await requireGrantableParts(tx, caller, keys, properties.applicationId, properties.definition);
  const columns = proxyRowOf(keys, tx.tenantId, { id, key: current.key, ...properties });
  const modifiedBy = actorOf(caller).id;
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  tx.enqueue(updateProxyRow, { ...columns, revision: row.revision, modified_by: modifiedBy });
  writeLog(tx, logEntry(actorOf(caller), "proxy", id, "update"));
  return { ...current, ...properties, modifiedBy, modifiedAt: tx.now };
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

/** Checks the rights of everything that a proxy acts with, for a person who writes it. @throws {Fault} permission_denied. */
async function requireGrantableParts(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  applicationId: Uuid | undefined,
  { requestReactorId, responseReactorId }: ProxyDefinition,
): Promise<void> {
  if (caller.principal.kind !== "person") return;
  await requireGrantableActing(tx, caller, keys, applicationId);
  for (const id of [requestReactorId, responseReactorId]) {
    const reactor = id === undefined ? null : await tx.query(readReactor, id);
    await requireGrantableActing(tx, caller, keys, reactor?.application_id);
  }
}

async function requireReactor(tx: Transaction, field: string, id: Uuid | undefined): Promise<void> {
  if (id !== undefined && !(await tx.query(readReactor, id))) throw invalid(field, "must be a reactor of this tenant");
}

/** Deletes a proxy; its key stops working everywhere at once. */
export async function deleteProxy(tx: Transaction, caller: Caller, id: Uuid): Promise<void> {
  const row = await tx.query(readProxy, id);
  if (!row) throw notFound("proxy");
  requireOwn(caller, row.created_by);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  if (!(await tx.query(deleteProxyRow, id))) throw notFound("proxy");
  tx.enqueue(deleteFailedRuns, id);
  writeLog(tx, logEntry(actorOf(caller), "proxy", id, "delete"));
}

/** The failed runs of the proxy's transforms of the last day, newest first. */
export async function failedRunsOfProxy(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<readonly FailedRun[]> {
  if (!(await tx.query(readProxy, id))) throw notFound("proxy");
  return readFailedRuns(tx, caller, keys, "proxy", id);
}
