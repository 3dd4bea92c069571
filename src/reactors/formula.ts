import { actorOf, type Caller, personOf } from "../access/caller.js";
import { type Denied, deniedWith } from "../access/refusal.js";
import { isAdministrator } from "../access/role.js";
import { canGrantAnyPermission, requireOwn } from "../access/role-rights.js";
import { secondFactorRequired } from "../access/second-factor.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { Fault, invalid, notFound } from "../base/fault.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { type Page, type PageRequest, requirePageSize } from "../base/page.js";
import { open, seal } from "../crypto/sealed.js";
import { nameColumns, openName } from "../crypto/sealed-name.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import {
  deleteFormulaRow,
  type FormulaRow,
  formulaInUse,
  insertFormula,
  listFormulaRows,
  namesOfFormulas,
  readFormula,
  updateFormulaRow,
} from "../store/functions/reactor-formulas.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { listByName } from "../tenancy/name-search.js";
import type { ConfigurationEntry, FormulaContract, RequestParameter, ValueType } from "./formula-contract.js";

/** Whether reactors can be created from it already. */
export type FormulaStatus = "verified" | "coming_soon";

/** Code shared by reactors, with the configuration and arguments that it expects. */
export interface Formula extends FormulaContract {
  readonly id: Uuid;
  readonly name: string;
  readonly type: "official" | "private";
  readonly status: FormulaStatus;
  readonly description: string | undefined;
  /** A data URL. */
  readonly icon: string | undefined;
  readonly code: string;
  readonly revision: number;
  readonly createdBy: Uuid | null;
  readonly createdAt: Date;
  readonly modifiedBy: Uuid | null;
  readonly modifiedAt: Date | null;
}

export type FormulaDraft = Omit<
  Formula,
  "id" | "type" | "status" | "revision" | "createdBy" | "createdAt" | "modifiedBy" | "modifiedAt"
>;

/** Clients of 2023 write a blank after the comma. */
const ICON = /^data:image\/(?:png|jpe?g);base64, ?[A-Za-z0-9+/]+={0,2}$/;

/** @throws {Fault} validation_failed for an icon that is no png or jpeg image as a data URL. */
export function checkIcon(icon: string | undefined): void {
  if (icon !== undefined && !ICON.test(icon)) {
    throw invalid("icon", "must be a data URL of a png or jpeg image: data:image/png;base64,...");
  }
}

export async function createFormula(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  draft: FormulaDraft,
  wantedId: Uuid | undefined,
): Promise<Formula> {
  const id = wantedId ?? newUuid();
  const official = await tx.query(readFormula, id);
  const row = { ...rowOf(keys, tx.tenantId, id, draft), created_by: actorOf(caller).id };
  if (official || !(await tx.query(insertFormula, row))) {
    throw new Fault("already_exists", "There is a formula with this id already.", { fields: { id: ["is taken"] } });
  }
  writeLog(tx, logEntry(actorOf(caller), "reactor_formula", id, "create"));
  const times = { createdBy: actorOf(caller).id, createdAt: tx.now, modifiedBy: null, modifiedAt: null };
  return { ...draft, id, type: "private", status: "verified", revision: 1, ...times };
}

export async function getFormula(tx: Transaction, caller: Caller, keys: TenantKeys, id: Uuid): Promise<Formula> {
  const row = await tx.query(readFormula, id);
  if (!row) throw notFound("reactor formula");
  writeLog(tx, logEntry(actorOf(caller), "reactor_formula", id, "read"));
  return openFormula(keys, tx.tenantId, row);
}

export async function listFormulas(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  { name, ...listing }: PageRequest & { readonly name: string | undefined },
): Promise<Page<Formula>> {
  const { items, total, bytes } =
    name === undefined
      ? await tx.query(listFormulaRows, listing)
      : await listByName(tx, keys, { names: namesOfFormulas, read: readFormula }, { ...listing, name });
  requirePageSize("formulas", bytes);
  writeLog(tx, logEntry(actorOf(caller), "reactor_formula", ANY_ENTITY_ID, "list"));
  return { items: items.map((row) => openFormula(keys, tx.tenantId, row)), total };
}

/** Replaces a formula of the tenant. Only the operator changes official ones. */
export async function updateFormula(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  draft: FormulaDraft,
): Promise<Formula> {
  const row = await tx.query(readFormula, id);
  if (!row) throw notFound("reactor formula");
  if (row.official) throw deniedOfficial(caller, id);
  requireOwn(caller, row.created_by);
  if (!canGrantAnyPermission(caller) && (await tx.query(formulaInUse, id))) throw mayNotChangeUsed(caller);
  const change = { ...rowOf(keys, tx.tenantId, id, draft), modified_by: actorOf(caller).id };
  if (!(await tx.query(updateFormulaRow, change))) throw notFound("reactor formula");
  writeLog(tx, logEntry(actorOf(caller), "reactor_formula", id, "update"));
  const current = openFormula(keys, tx.tenantId, row);
  return { ...current, ...draft, modifiedBy: actorOf(caller).id, modifiedAt: tx.now };
}

/** Deletes a formula of the tenant, unless a reactor uses it: that would lose its code. */
export async function deleteFormula(tx: Transaction, caller: Caller, id: Uuid): Promise<void> {
  const [row, isUsed] = await Promise.all([tx.query(readFormula, id), tx.query(formulaInUse, id)]);
  if (!row) throw notFound("reactor formula");
  if (row.official) throw deniedOfficial(caller, id);
  requireOwn(caller, row.created_by);
  if (isUsed) throw usedFormula();
  if (!(await tx.query(deleteFormulaRow, id))) throw notFound("reactor formula");
  // A concurrent creation of a reactor locks the formula until the reactor is stored.
  if (await tx.query(formulaInUse, id)) throw usedFormula();
  writeLog(tx, logEntry(actorOf(caller), "reactor_formula", id, "delete"));
}

/** Code that reactors run has the rights of their applications. */
function mayNotChangeUsed(caller: Caller): Fault {
  const { role } = personOf(caller);
  if (isAdministrator(role)) return secondFactorRequired("Changing a formula that reactors use");
  const text = `Your role ${role} may not change a formula that reactors use; OWNER and ADMIN may, with a second factor.`;
  return new Fault("permission_denied", text);
}

function usedFormula(): Fault {
  return new Fault("conflict", "Reactors are made from this formula. Delete them first.");
}

/** @param id of an existing or new official formula; undefined for a new one without an id. */
export function deniedOfficial(caller: Caller, id: Uuid | undefined): Denied {
  const fault = new Fault(
    "permission_denied",
    "Official formulas are the operator's: a tenant cannot make or change them.",
  );
  return deniedWith(caller, fault, "reactor_formula", id ?? ANY_ENTITY_ID, "official");
}

function rowOf(keys: TenantKeys, tenantId: TenantId, id: Uuid, draft: FormulaDraft) {
  const place = { tenantId, entity: id };
  const written = Buffer.from(JSON.stringify(writeFormula(draft)));
  return {
    id,
    definition: seal(keys.data, { ...place, field: "formula" }, written),
    ...nameColumns(keys, place, draft.name),
  };
}

/** Encodes a formula for storage, sealed for a tenant or plain for all. */
export function writeFormula({ description, icon, code, configuration, requestParameters }: FormulaDraft): JsonObject {
  const entry = ({ name, description: text, type }: ConfigurationEntry): JsonObject => ({
    name,
    ...(text === undefined ? {} : { description: text }),
    type,
  });
  return {
    ...(description === undefined ? {} : { description }),
    ...(icon === undefined ? {} : { icon }),
    code,
    configuration: configuration.map(entry),
    request_parameters: requestParameters.map((parameter) => ({ ...entry(parameter), optional: parameter.optional })),
  };
}

export function openFormula(keys: TenantKeys, tenantId: TenantId, row: FormulaRow): Formula {
  const place = { tenantId, entity: row.id };
  const stored: Json = row.sealed
    ? JSON.parse(open(keys.data, { ...place, field: "formula" }, row.sealed).toString())
    : row.official;
  if (!isJsonObject(stored)) throw new Error("the definition of a formula is not an object");
  return {
    id: row.id,
    name: openName(keys, place, row),
    type: row.official ? "official" : "private",
    status: stored.status === "coming_soon" ? "coming_soon" : "verified",
    description: textOf(stored.description),
    icon: textOf(stored.icon),
    code: textOf(stored.code) ?? "",
    configuration: entriesOf(stored.configuration),
    requestParameters: parametersOf(stored.request_parameters),
    revision: row.revision,
    createdBy: row.created_by,
    createdAt: row.created_at,
    modifiedBy: row.modified_by,
    modifiedAt: row.modified_at,
  };
}

function entriesOf(stored: Json | undefined): ConfigurationEntry[] {
  return objectsOf(stored).map(({ name, description, type }) => ({
    name: String(name),
    description: textOf(description),
    type: valueType(type),
  }));
}

function parametersOf(stored: Json | undefined): RequestParameter[] {
  return objectsOf(stored).map(({ name, description, type, optional }) => ({
    name: String(name),
    description: textOf(description),
    type: valueType(type),
    optional: optional === true,
  }));
}

function objectsOf(stored: Json | undefined): JsonObject[] {
  return Array.isArray(stored) ? stored.filter(isJsonObject) : [];
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function valueType(value: Json | undefined): ValueType {
  return value === "boolean" || value === "number" ? value : "string";
}
