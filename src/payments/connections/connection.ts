import { type Authorship, changedAuthorship, newAuthorship, readAuthorship } from "../../access/authorship.js";
import { loggedActor } from "../../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../../access/caller-transaction.js";
import { StoredEntities } from "../../access/stored-entities.js";
import { ANY_ENTITY_ID } from "../../audit/log-entry.js";
import { Fault, invalid } from "../../base/fault.js";
import { newUuid, type Uuid } from "../../base/ids.js";
import { textsIn } from "../../base/json.js";
import { openName, sealName } from "../../crypto/sealed-name.js";
import { sealedRecord } from "../../crypto/sealed-record.js";
import { Sensitive } from "../../crypto/sensitive.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import { scheduleDue } from "../../store/jobs/due.js";
import {
  type ConnectionRow,
  type ConnectionStatus,
  countConnections,
  deleteConnectionRow,
  insertConnection,
  listConnectionRows,
  lockConnection,
  readConnection,
  updateConnectionRow,
} from "../../store/payments/connections.js";
import { AAD_COLUMNS } from "../../store/tenancy/sealed-columns.js";
import { lockTenant } from "../../store/tenancy/tenants.js";
import type { Formula, FormulaId } from "../contract/formula.js";
import { type ConnectionFields, type GivenField, readFields, sameFields } from "./connection-fields.js";
import { FORMULAS, findFormula } from "./providers.js";

export interface ConnectionProperties {
  readonly displayName: string;
  /** ISO 3166-1 alpha-2, at least one. */
  readonly acceptedCountries: readonly string[];
  /** ISO 4217, at least one. */
  readonly acceptedCurrencies: readonly string[];
  /** The owner's switch. The status holds the result of our check. A payment needs both. */
  readonly active: boolean;
}

/** A tenant's credentials at a payment service. */
export interface Connection extends ConnectionProperties, Authorship {
  readonly id: Uuid;
  readonly formula: Formula;
  readonly fields: ConnectionFields;
  readonly status: ConnectionStatus;
  readonly checks: number;
  readonly revision: number;
}

export interface ConnectionDraft extends ConnectionProperties {
  readonly formula: Formula;
  readonly fields: readonly GivenField[];
}

/** @throws {Fault} validation_failed naming connection_formula_id or method. */
export function chooseFormula(id: string, method: string): Formula {
  const formula = findFormula(id);
  if (!formula)
    throw invalid(
      "connection_formula_id",
      "must be the id of a formula that GET /orchestration/connection_formulas lists",
    );
  if (method !== formula.method) throw invalid("method", `must be ${formula.method}`);
  return formula;
}

/** @throws {Fault} validation_failed naming the first country or currency that the payment service does not support. */
export function requireSupported({ formula, acceptedCountries, acceptedCurrencies }: ConnectionDraft): void {
  const country = acceptedCountries.findIndex((code) => !formula.countries.includes(code));
  if (country >= 0) {
    throw invalid(`accepted_countries[${country}]`, "must be an ISO 3166-1 alpha-2 code that the formula supports");
  }
  const currency = acceptedCurrencies.findIndex((code) => !formula.currencies.includes(code));
  if (currency >= 0) {
    throw invalid(`accepted_currencies[${currency}]`, "must be an ISO 4217 code that the formula supports");
  }
}

/** The list of a tenant's connections has no pages. */
const MAX_CONNECTIONS = 1_000;

export const connections = new StoredEntities<ConnectionRow, Connection>({
  type: "connection",
  read: readConnection,
  remove: deleteConnectionRow,
  open: ({ keys }, row) => openConnection(keys, row),
});

/** @throws {Fault} unprocessable if the tenant has 1,000 connections; validation_failed. */
export async function createConnection(
  tx: OrdinaryCallerTransaction,
  { formula, fields: given, ...properties }: ConnectionDraft,
): Promise<Connection> {
  const fields = readFields(formula, given);
  await lockTenant(tx, tx.tenantId);
  if ((await tx.query(countConnections, "all")) >= MAX_CONNECTIONS) {
    throw new Fault(
      "unprocessable",
      `A tenant may have at most ${MAX_CONNECTIONS} connections. Delete one that is not used.`,
    );
  }
  const connection: Connection = {
    id: newUuid(),
    formula,
    fields,
    ...properties,
    status: "pending",
    checks: 0,
    revision: 1,
    ...newAuthorship(tx),
  };
  tx.enqueue(insertConnection, {
    ...connectionColumns(tx.keys, connection),
    check_due_at: tx.now,
    created_by: loggedActor(tx.caller).id,
  });
  scheduleDue(tx, { kind: "connection_check", at: tx.now });
  tx.log("connection", connection.id, "create");
  return connection;
}

export async function listConnections(tx: CallerTransaction): Promise<readonly Connection[]> {
  const rows = await tx.query(listConnectionRows, "all");
  tx.log("connection", ANY_ENTITY_ID, "list");
  return rows.map((row) => openConnection(tx.keys, row));
}

export async function listConnectionFormulas(tx: CallerTransaction): Promise<readonly Formula[]> {
  tx.log("connection_formula", ANY_ENTITY_ID, "list");
  return FORMULAS;
}

/** New credentials are checked again. Other changes keep the status, unless the last check failed. */
export async function replaceConnection(
  tx: OrdinaryCallerTransaction,
  id: Uuid,
  { formula, fields: given, ...properties }: ConnectionDraft,
): Promise<Connection> {
  const row = connections.present(await lockConnection(tx, id));
  const current = openConnection(tx.keys, row);
  const isSameService = current.formula.id === formula.id;
  const fields = readFields(formula, given, isSameService ? current.fields : undefined);
  const isChecked = isSameService && sameFields(fields, current.fields) && current.status === "available";
  const changed: Connection = {
    id,
    formula,
    fields,
    ...properties,
    status: isChecked ? "available" : "pending",
    checks: 0,
    revision: row.revision,
    ...readAuthorship(row),
    ...changedAuthorship(tx),
  };
  tx.enqueue(updateConnectionRow, {
    ...connectionColumns(tx.keys, changed),
    check_due_at: isChecked ? null : tx.now,
    modified_by: loggedActor(tx.caller).id,
    revision: row.revision,
  });
  if (!isChecked) scheduleDue(tx, { kind: "connection_check", at: tx.now });
  tx.log("connection", id, "update");
  return changed;
}

export function openConnection(keys: TenantKeys, row: ConnectionRow): Connection {
  const formula = findFormula(row.formula_id);
  if (!formula) throw new Error("a connection of an unknown formula is stored");
  return {
    id: row.id,
    formula,
    displayName: openName(keys, row.id, row.name),
    fields: connectionRecord.open(keys, row, row.fields),
    acceptedCountries: row.accepted_countries,
    acceptedCurrencies: row.accepted_currencies,
    active: row.active,
    status: row.status,
    checks: row.checks,
    revision: row.revision,
    ...readAuthorship(row),
  };
}

/**
 * The connection that a payment was made through, if it still leads to the same service. A different service does not
 * know the payment and would charge it a second time.
 */
export function connectionOfPayment(
  keys: TenantKeys,
  row: ConnectionRow | null,
  payment: { readonly connection: { readonly formulaId: FormulaId } },
): Connection | undefined {
  const connection = row ? openConnection(keys, row) : undefined;
  return connection?.formula.id === payment.connection.formulaId ? connection : undefined;
}

function connectionColumns(keys: TenantKeys, connection: Connection) {
  const { id, formula, fields, displayName, acceptedCountries, acceptedCurrencies, active, status, checks } =
    connection;
  const plain = {
    formula_id: formula.id,
    active,
    accepted_countries: [...acceptedCountries],
    accepted_currencies: [...acceptedCurrencies],
  };
  return {
    id,
    ...plain,
    name: sealName(keys, id, displayName),
    status,
    checks,
    fields: connectionRecord.seal(keys, { id, ...plain }, fields),
  };
}

export const connectionRecord = sealedRecord({
  field: "connection",
  bound: AAD_COLUMNS.connections,
  write: (fields: ConnectionFields) => Object.fromEntries([...fields].map(([key, value]) => [key, value.reveal()])),
  read: (stored): ConnectionFields =>
    new Map(Object.entries(textsIn(stored)).map(([key, value]) => [key, new Sensitive(value)])),
});
