import { actorOf, type Caller } from "../access/caller.js";
import { newKey } from "../access/key-text.js";
import { Refused } from "../access/refusal.js";
import { ALL, logEntry } from "../audit/log-entry.js";
import { Fault, invalid, notFound } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import type { Page, PageRequest } from "../base/page.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { requireApplication } from "../functions/acting-application.js";
import { type FailedRun, readFailedRuns } from "../functions/failed-runs.js";
import { writeLog } from "../store/audit-logs.js";
import { deleteFailedRuns } from "../store/failed-runs.js";
import { deleteProxyRow, insertProxy, listProxies, readProxy, updateProxy } from "../store/proxies.js";
import { readReactor } from "../store/reactors.js";
import { raiseAuthRevision } from "../store/tenants.js";
import type { Transaction } from "../store/transaction.js";
import { type ConfiguredProxy, openProxy, type ProxyDefinition, sealProxy } from "./proxy.js";

/** What a proxy is beside its definition. */
export interface ProxyProperties {
  readonly name: string;
  readonly applicationId: Uuid | undefined;
  readonly requireAuth: boolean;
}

/** Two changes of one proxy at once: the second starts over from what the first left. */
const TRIES = 5;

export async function createProxy(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  properties: ProxyProperties,
  definition: ProxyDefinition,
): Promise<ConfiguredProxy> {
  await Promise.all([
    requireApplication(tx, properties.applicationId),
    requireReactor(tx, "request_reactor_id", definition.requestReactorId),
    requireReactor(tx, "response_reactor_id", definition.responseReactorId),
  ]);
  const id = newUuid();
  const { text: key, hash } = newKey("prx", tx.tenantId);
  const { name, applicationId, requireAuth } = properties;
  const createdBy = caller.application.id;
  tx.tell(insertProxy, {
    id,
    name,
    key_hash: hash,
    definition: sealProxy(keys, tx.tenantId, id, key, definition),
    application_id: applicationId ?? null,
    require_auth: requireAuth,
    created_by: createdBy,
  });
  writeLog(tx, logEntry(actorOf(caller), "proxy", id, "create"));
  const times = { createdBy, createdAt: tx.now, modifiedBy: null, modifiedAt: null };
  return { id, name, key, definition, applicationId, requireAuth, revision: 1, ...times };
}

export async function getProxy(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<ConfiguredProxy | Refused> {
  const row = await tx.ask(readProxy, id);
  if (!row) return new Refused(notFound("proxy"));
  writeLog(tx, logEntry(actorOf(caller), "proxy", id, "read"));
  return openProxy(keys, tx.tenantId, row);
}

export async function pageOfProxies(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  listing: PageRequest & { readonly ids: readonly Uuid[]; readonly name: string | undefined },
): Promise<Page<ConfiguredProxy>> {
  const { items, total } = await tx.ask(listProxies, listing);
  writeLog(tx, logEntry(actorOf(caller), "proxy", ALL, "list"));
  return { items: items.map((row) => openProxy(keys, tx.tenantId, row)), total };
}

/** Changes a proxy. What is in use anywhere is loaded anew, since the tenant's revision rises. */
export async function changeProxy(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  change: (current: ConfiguredProxy) => ProxyProperties & { readonly definition: ProxyDefinition },
): Promise<ConfiguredProxy | Refused> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const row = await tx.ask(readProxy, id);
    if (!row) return new Refused(notFound("proxy"));
    const current = openProxy(keys, tx.tenantId, row);
    const { name, applicationId, requireAuth, definition } = change(current);
    if (applicationId !== current.applicationId) await requireApplication(tx, applicationId);
    await requireNewReactors(tx, definition, current.definition);
    tx.tell(raiseAuthRevision, tx.tenantId);
    const isChanged = await tx.ask(updateProxy, {
      id,
      name,
      definition: sealProxy(keys, tx.tenantId, id, current.key, definition),
      application_id: applicationId ?? null,
      require_auth: requireAuth,
      revision: row.revision,
      modified_by: caller.application.id,
    });
    if (!isChanged) continue;
    writeLog(tx, logEntry(actorOf(caller), "proxy", id, "update"));
    const changed = {
      name,
      applicationId,
      requireAuth,
      definition,
      modifiedBy: caller.application.id,
      modifiedAt: tx.now,
    };
    return { ...current, ...changed };
  }
  return new Refused(new Fault("conflict", "The proxy keeps being changed. Try again."));
}

/** A proxy that is changed elsewhere keeps a reactor that is gone by now: its calls are refused, with the reason. */
async function requireNewReactors(tx: Transaction, next: ProxyDefinition, last: ProxyDefinition): Promise<void> {
  for (const [field, name] of [
    ["request_reactor_id", "requestReactorId"],
    ["response_reactor_id", "responseReactorId"],
  ] as const) {
    if (next[name] !== last[name]) await requireReactor(tx, field, next[name]);
  }
}

async function requireReactor(tx: Transaction, field: string, id: Uuid | undefined): Promise<void> {
  if (id !== undefined && !(await tx.ask(readReactor, id))) throw invalid(field, "must be a reactor of this tenant");
}

/** Deletes a proxy; its key stops working everywhere at once. */
export async function deleteProxy(tx: Transaction, caller: Caller, id: Uuid): Promise<undefined | Refused> {
  tx.tell(raiseAuthRevision, tx.tenantId);
  if (!(await tx.ask(deleteProxyRow, id))) return new Refused(notFound("proxy"));
  tx.tell(deleteFailedRuns, id);
  writeLog(tx, logEntry(actorOf(caller), "proxy", id, "delete"));
  return undefined;
}

/** The runs of the proxy's transforms that failed within the last day, newest first. */
export async function failedRunsOfProxy(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<readonly FailedRun[] | Refused> {
  if (!(await tx.ask(readProxy, id))) return new Refused(notFound("proxy"));
  return readFailedRuns(tx, caller, keys, "proxy", id);
}
