import { actorOf, type Caller } from "../access/caller.js";
import { requireOwn } from "../access/role-rights.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { type Fault, invalid, notFound } from "../base/fault.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { type Page, type PageRequest, requirePageSize } from "../base/page.js";
import { encodeAad, open, seal } from "../crypto/sealed.js";
import { nameColumns, openName } from "../crypto/sealed-name.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { requireApplication, requireGrantableActing } from "../functions/acting-application.js";
import { requireConfigurationSize } from "../functions/configuration.js";
import { type FailedRun, readFailedRuns } from "../functions/failed-runs.js";
import { parseRuntime, type Runtime } from "../functions/runtime.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { deleteFailedRuns } from "../store/functions/failed-runs.js";
import { lockFormula, readFormula } from "../store/functions/reactor-formulas.js";
import {
  deleteReactorRow,
  insertReactor,
  listReactorRows,
  lockReactor,
  namesOfReactors,
  type ReactorColumns,
  type ReactorRow,
  readReactor,
  updateReactorRow,
} from "../store/functions/reactors.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-rows.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { listByName } from "../tenancy/name-search.js";
import { type Formula, openFormula } from "./formula.js";
import { typedConfiguration } from "./formula-contract.js";

/** The code of a reactor: its own, or that of a formula. */
export type ReactorCode =
  | { readonly kind: "code"; readonly code: string }
  | { readonly kind: "formula"; readonly formulaId: Uuid };

export interface ReactorProperties {
  readonly name: string;
  readonly code: ReactorCode;
  readonly applicationId: Uuid | undefined;
  readonly configuration: Readonly<Record<string, string>>;
  readonly runtime: Runtime | undefined;
}

/** A tenant's function, called by its id. */
export interface Reactor extends ReactorProperties {
  readonly id: Uuid;
  readonly revision: number;
  readonly createdBy: Uuid | null;
  readonly createdAt: Date;
  readonly modifiedBy: Uuid | null;
  readonly modifiedAt: Date | null;
}

/** A reactor with the current version of its formula. */
export interface ShownReactor extends Reactor {
  readonly formula: Formula | undefined;
}

/**
 * The code or formula in a request; undefined for neither.
 * @throws {Fault} validation_failed for both.
 */
export function chooseCode(code: string | undefined, formulaId: Uuid | undefined): ReactorCode | undefined {
  const hasCode = code !== undefined && code !== "";
  if (hasCode && formulaId !== undefined) throw invalid("formula", "must not be given together with code");
  if (formulaId !== undefined) return { kind: "formula", formulaId };
  return hasCode ? { kind: "code", code } : undefined;
}

/** The fault of a reactor without code. */
export function lacksCode(): Fault {
  return invalid("code", "must be given, or a formula");
}

export async function createReactor(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
  properties: ReactorProperties,
): Promise<ShownReactor> {
  requireConfigurationSize(properties.configuration);
  await requireApplication(tx, properties.applicationId);
  await requireGrantableActing(tx, caller, keys, properties.applicationId);
  const formula = await requireContract(tx, keys, properties);
  const id = newUuid();
  const createdBy = actorOf(caller).id;
  tx.enqueue(insertReactor, { ...rowOf(tx.tenantId, keys, id, properties), created_by: createdBy });
  writeLog(tx, logEntry(actorOf(caller), "reactor", id, "create"));
  return { ...properties, formula, id, revision: 1, createdBy, createdAt: tx.now, modifiedBy: null, modifiedAt: null };
}

export async function getReactor(tx: Transaction, caller: Caller, keys: TenantKeys, id: Uuid): Promise<ShownReactor> {
  const row = await tx.query(readReactor, id);
  if (!row) throw notFound("reactor");
  writeLog(tx, logEntry(actorOf(caller), "reactor", id, "read"));
  return withFormula(tx, keys, row);
}

export async function listReactors(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  { name, ...listing }: PageRequest & { readonly ids: readonly Uuid[]; readonly name: string | undefined },
): Promise<Page<ShownReactor>> {
  const { items, total, bytes } =
    name === undefined
      ? await tx.query(listReactorRows, listing)
      : await listByName(tx, keys, { names: namesOfReactors, read: readReactor }, { ...listing, name });
  requirePageSize("reactors", bytes);
  writeLog(tx, logEntry(actorOf(caller), "reactor", ANY_ENTITY_ID, "list"));
  return { items: await Promise.all(items.map((row) => withFormula(tx, keys, row))), total };
}

async function withFormula(tx: Transaction, keys: TenantKeys, row: ReactorRow): Promise<ShownReactor> {
  const formula = row.formula_id ? await tx.query(readFormula, row.formula_id) : null;
  return {
    ...openReactor(keys, tx.tenantId, row),
    formula: formula ? openFormula(keys, tx.tenantId, formula) : undefined,
  };
}

export async function updateReactor(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  change: (current: Reactor) => ReactorProperties,
): Promise<ShownReactor> {
  const row = await lockReactor(tx, id);
  if (!row) throw notFound("reactor");
  requireOwn(caller, row.created_by);
  const current = openReactor(keys, tx.tenantId, row);
  const properties = change(current);
  if (properties.configuration !== current.configuration) requireConfigurationSize(properties.configuration);
  if (properties.applicationId !== current.applicationId) await requireApplication(tx, properties.applicationId);
  await requireGrantableActing(tx, caller, keys, current.applicationId);
  await requireGrantableActing(tx, caller, keys, properties.applicationId);
  const formula = await requireContract(tx, keys, properties);
  const { id: _, ...changed } = rowOf(tx.tenantId, keys, id, properties);
  const modifiedBy = actorOf(caller).id;
  tx.enqueue(updateReactorRow, { id, ...changed, revision: row.revision, modified_by: modifiedBy });
  writeLog(tx, logEntry(actorOf(caller), "reactor", id, "update"));
  return { ...current, ...properties, formula, modifiedBy, modifiedAt: tx.now };
}

export async function deleteReactor(tx: Transaction, caller: Caller, id: Uuid): Promise<void> {
  const row = await tx.query(readReactor, id);
  if (!row) throw notFound("reactor");
  requireOwn(caller, row.created_by);
  if (!(await tx.query(deleteReactorRow, id))) throw notFound("reactor");
  tx.enqueue(deleteFailedRuns, id);
  writeLog(tx, logEntry(actorOf(caller), "reactor", id, "delete"));
}

/** The reactor's failed runs of the last day, newest first. */
export async function failedRunsOfReactor(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<readonly FailedRun[]> {
  if (!(await tx.query(readReactor, id))) throw notFound("reactor");
  return readFailedRuns(tx, caller, keys, "reactor", id);
}

/**
 * A reactor made from a formula must be configured as that asks. The formula is held until the reactor is stored: a
 * transaction that deletes it waits, and finds the reactor.
 */
async function requireContract(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  { code, configuration }: ReactorProperties,
): Promise<Formula | undefined> {
  if (code.kind !== "formula") return undefined;
  const [isHeld, row] = await Promise.all([
    tx.query(lockFormula, code.formulaId),
    tx.query(readFormula, code.formulaId),
  ]);
  if (!row || !(isHeld || row.official)) throw unknownFormula();
  const formula = openFormula(keys, tx.tenantId, row);
  typedConfiguration(formula, configuration);
  return formula;
}

function unknownFormula(): Fault {
  return invalid("formula.id", "must be an official formula or one of this tenant");
}

function rowOf(
  tenantId: TenantId,
  keys: TenantKeys,
  id: Uuid,
  { name, code, applicationId, configuration, runtime }: ReactorProperties,
): ReactorColumns {
  const written = {
    ...(code.kind === "code" ? { code: code.code } : {}),
    configuration: { ...configuration },
    ...(runtime ? { runtime: { ...runtime } } : {}),
  };
  const plain = { application_id: applicationId ?? null, formula_id: code.kind === "formula" ? code.formulaId : null };
  const place = { tenantId, entity: id };
  const bound = encodeAad(plain, AAD_COLUMNS.reactors);
  const definition = seal(keys.data, { ...place, field: "reactor", bound }, Buffer.from(JSON.stringify(written)));
  return { id, ...plain, definition, ...nameColumns(keys, place, name) };
}

export function openReactor(keys: TenantKeys, tenantId: TenantId, row: ReactorRow): Reactor {
  const place = { tenantId, entity: row.id };
  const bound = encodeAad(row, AAD_COLUMNS.reactors);
  const stored: Json = JSON.parse(open(keys.data, { ...place, field: "reactor", bound }, row.definition).toString());
  if (!isJsonObject(stored)) throw new Error("the definition of a reactor is not an object");
  const configuration = isJsonObject(stored.configuration) ? stored.configuration : {};
  return {
    id: row.id,
    name: openName(keys, place, row),
    code: row.formula_id ? { kind: "formula", formulaId: row.formula_id } : { kind: "code", code: String(stored.code) },
    applicationId: row.application_id ?? undefined,
    configuration: Object.fromEntries(Object.entries(configuration).map(([name, value]) => [name, String(value)])),
    runtime: stored.runtime === undefined ? undefined : parseRuntime(stored.runtime, "runtime"),
    revision: row.revision,
    createdBy: row.created_by,
    createdAt: row.created_at,
    modifiedBy: row.modified_by,
    modifiedAt: row.modified_at,
  };
}
