import { type Authorship, changedAuthorship, newAuthorship, readAuthorship } from "../access/authorship.js";
import { type Caller, loggedActor } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { requirePower } from "../access/power.js";
import { type Denied, deniedWith } from "../access/refusal.js";
import { requireOwn } from "../access/role-rights.js";
import { NamedEntities } from "../access/stored-entities.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { Fault, invalid, notFound } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject, textIn } from "../base/json.js";
import { openName, sealName } from "../crypto/sealed-name.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
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
import type { ConfigurationEntry, FormulaContract, RequestParameter, ValueType } from "./formula-contract.js";

/** Whether reactors can be created from it already. */
export type FormulaStatus = "verified" | "coming_soon";

/** Code shared by reactors, with the configuration and arguments that it expects. */
export interface Formula extends FormulaContract, Authorship {
  readonly id: Uuid;
  readonly name: string;
  readonly type: "official" | "private";
  readonly status: FormulaStatus;
  readonly description: string | undefined;
  /** A data URL. */
  readonly icon: string | undefined;
  readonly code: string;
  readonly revision: number;
}

export type FormulaDraft = Omit<Formula, "id" | "type" | "status" | "revision" | keyof Authorship>;

/** Clients of 2023 write a blank after the comma. */
const ICON = /^data:image\/(?:png|jpe?g);base64, ?[A-Za-z0-9+/]+={0,2}$/;

/** @throws {Fault} validation_failed for an icon that is no png or jpeg image as a data URL. */
export function checkIcon(icon: string | undefined): void {
  if (icon !== undefined && !ICON.test(icon)) {
    throw invalid("icon", "must be a data URL of a png or jpeg image: data:image/png;base64,...");
  }
}

export const formulas = new NamedEntities<FormulaRow, Formula>({
  type: "reactor_formula",
  plural: "formulas",
  read: readFormula,
  names: namesOfFormulas,
  list: listFormulaRows,
  remove: deleteFormulaRow,
  open: ({ keys }, row) => openFormula(keys, row),
});

export async function createFormula(
  tx: CallerTransaction,
  draft: FormulaDraft,
  wantedId: Uuid | undefined,
): Promise<Formula> {
  const id = wantedId ?? newUuid();
  const official = await tx.query(readFormula, id);
  const row = { ...formulaColumns(tx.keys, id, draft), created_by: loggedActor(tx.caller).id };
  if (official || !(await tx.query(insertFormula, row))) {
    throw new Fault("already_exists", "There is a formula with this id already.", { fields: { id: ["is taken"] } });
  }
  tx.log("reactor_formula", id, "create");
  return { ...draft, id, type: "private", status: "verified", revision: 1, ...newAuthorship(tx) };
}

/** Replaces a formula of the tenant. Only the operator changes official ones. */
export async function updateFormula(tx: CallerTransaction, id: Uuid, draft: FormulaDraft): Promise<Formula> {
  const row = await formulas.find(tx, id);
  if (row.official) throw deniedOfficial(tx.caller, id);
  requireOwn(tx.caller, row.created_by);
  if (await tx.query(formulaInUse, id)) requireMayChangeUsed(tx.caller);
  const change = { ...formulaColumns(tx.keys, id, draft), modified_by: loggedActor(tx.caller).id };
  if (!(await tx.query(updateFormulaRow, change))) throw notFound("reactor formula");
  tx.log("reactor_formula", id, "update");
  const current = openFormula(tx.keys, row);
  return { ...current, ...draft, ...changedAuthorship(tx) };
}

/** Deletes a formula of the tenant, unless a reactor uses it: that would lose its code. */
export async function deleteFormula(tx: CallerTransaction, id: Uuid): Promise<void> {
  const [row, isUsed] = await Promise.all([formulas.find(tx, id), tx.query(formulaInUse, id)]);
  if (row.official) throw deniedOfficial(tx.caller, id);
  requireOwn(tx.caller, row.created_by);
  if (isUsed) throw usedFormula();
  await formulas.delete(tx, id);
  // A concurrent creation of a reactor locks the formula until the reactor is stored.
  if (await tx.query(formulaInUse, id)) throw usedFormula();
}

/** Code that reactors run has the rights of their applications. */
function requireMayChangeUsed(caller: Caller): void {
  if (caller.principal.kind === "application") return;
  const what = "a formula that reactors use";
  requirePower(caller, { needs: ["administer"], doing: `Changing ${what}`, act: `change ${what}` });
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
  return deniedWith(caller, fault, "official", { type: "reactor_formula", id: id ?? ANY_ENTITY_ID });
}

function formulaColumns(keys: TenantKeys, id: Uuid, draft: FormulaDraft) {
  return { id, definition: formulaRecord.seal(keys, { id }, draft), name: sealName(keys, id, draft.name) };
}

/** A formula's name has a column of its own. */
export const formulaRecord = sealedRecord({ field: "formula", write: writeFormula, read: readStored });

/** Encodes a formula for storage, sealed for a tenant or plain for all. */
export function writeFormula(formula: Omit<FormulaDraft, "name">): JsonObject {
  const { description, icon, code, configuration, requestParameters } = formula;
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

export function openFormula(keys: TenantKeys, row: FormulaRow): Formula {
  const { official, sealed } = row;
  return {
    id: row.id,
    name: row.name ? openName(keys, row.id, row.name) : (row.official_name ?? ""),
    type: official ? "official" : "private",
    status: official?.status === "coming_soon" ? "coming_soon" : "verified",
    ...(sealed ? formulaRecord.open(keys, row, sealed) : readStored(official ?? {})),
    revision: row.revision,
    ...readAuthorship(row),
  };
}

function readStored(stored: JsonObject): Omit<FormulaDraft, "name"> {
  return {
    description: textIn(stored.description),
    icon: textIn(stored.icon),
    code: textIn(stored.code) ?? "",
    configuration: storedEntries(stored.configuration),
    requestParameters: storedParameters(stored.request_parameters),
  };
}

function storedEntries(stored: Json | undefined): ConfigurationEntry[] {
  return storedObjects(stored).map(({ name, description, type }) => ({
    name: String(name),
    description: textIn(description),
    type: valueType(type),
  }));
}

function storedParameters(stored: Json | undefined): RequestParameter[] {
  return storedObjects(stored).map(({ name, description, type, optional }) => ({
    name: String(name),
    description: textIn(description),
    type: valueType(type),
    optional: optional === true,
  }));
}

function storedObjects(stored: Json | undefined): JsonObject[] {
  return Array.isArray(stored) ? stored.filter(isJsonObject) : [];
}

function valueType(value: Json | undefined): ValueType {
  return value === "boolean" || value === "number" ? value : "string";
}
