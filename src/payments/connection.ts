import { actorOf, type Caller } from "../access/caller.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { Fault, invalid, notFound } from "../base/fault.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { encodeAad, open, seal } from "../crypto/sealed.js";
import { nameColumns, openName } from "../crypto/sealed-name.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { scheduleDue } from "../store/jobs/due.js";
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
} from "../store/payments/connections.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-rows.js";
import { lockTenant } from "../store/tenancy/tenants.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { type ConnectionFields, type GivenField, readFields, sameFields } from "./connection-fields.js";
import type { Formula, FormulaId } from "./formula.js";
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
export interface Connection extends ConnectionProperties {
  readonly id: Uuid;
  readonly formula: Formula;
  readonly fields: ConnectionFields;
  readonly status: ConnectionStatus;
  readonly checks: number;
  readonly revision: number;
}

/** A connection as a caller requests it. */
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

/** @throws {Fault} unprocessable if the tenant has 1,000 connections; validation_failed. */
export async function createConnection(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
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
    ...{ id: newUuid(), formula, fields, ...properties },
    ...{ status: "pending", checks: 0, revision: 1 },
  };
  tx.enqueue(insertConnection, {
    ...rowOf(tx.tenantId, keys, connection),
    check_due_at: tx.now,
    created_by: actorOf(caller).id,
  });
  scheduleDue(tx, { kind: "connection_check", at: tx.now });
  writeLog(tx, logEntry(actorOf(caller), "connection", connection.id, "create"));
  return connection;
}

export async function getConnection(tx: Transaction, caller: Caller, keys: TenantKeys, id: Uuid): Promise<Connection> {
  const row = await tx.query(readConnection, id);
  if (!row) throw notFound("connection");
  writeLog(tx, logEntry(actorOf(caller), "connection", id, "read"));
  return openConnection(keys, tx.tenantId, row);
}

export async function listConnections(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
): Promise<readonly Connection[]> {
  const rows = await tx.query(listConnectionRows, "all");
  writeLog(tx, logEntry(actorOf(caller), "connection", ANY_ENTITY_ID, "list"));
  return rows.map((row) => openConnection(keys, tx.tenantId, row));
}

/** Lists the formulas that a connection can use. */
export async function listFormulas(tx: Transaction, caller: Caller): Promise<readonly Formula[]> {
  writeLog(tx, logEntry(actorOf(caller), "connection_formula", ANY_ENTITY_ID, "list"));
  return FORMULAS;
}

/** New credentials are checked again. Other changes keep the status, unless the last check failed. */
export async function replaceConnection(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  { formula, fields: given, ...properties }: ConnectionDraft,
): Promise<Connection> {
  const row = await lockConnection(tx, id);
  if (!row) throw notFound("connection");
  const current = openConnection(keys, tx.tenantId, row);
  const isSameService = current.formula.id === formula.id;
  const fields = readFields(formula, given, isSameService ? current.fields : undefined);
  const isChecked = isSameService && sameFields(fields, current.fields) && current.status === "available";
  const changed: Connection = {
    ...{ id, formula, fields, ...properties },
    ...{ status: isChecked ? "available" : "pending", checks: 0, revision: row.revision },
  };
  tx.enqueue(updateConnectionRow, {
    ...rowOf(tx.tenantId, keys, changed),
    check_due_at: isChecked ? null : tx.now,
    modified_by: actorOf(caller).id,
    revision: row.revision,
  });
  if (!isChecked) scheduleDue(tx, { kind: "connection_check", at: tx.now });
  writeLog(tx, logEntry(actorOf(caller), "connection", id, "update"));
  return changed;
}

export async function deleteConnection(tx: Transaction, caller: Caller, id: Uuid): Promise<void> {
  if (!(await tx.query(deleteConnectionRow, id))) throw notFound("connection");
  writeLog(tx, logEntry(actorOf(caller), "connection", id, "delete"));
}

export function openConnection(keys: TenantKeys, tenantId: TenantId, row: ConnectionRow): Connection {
  const formula = findFormula(row.formula_id);
  if (!formula) throw new Error("a connection of an unknown formula is stored");
  const place = { tenantId, entity: row.id };
  const bound = encodeAad(row, AAD_COLUMNS.connections);
  const fields: Record<string, string> = JSON.parse(
    open(keys.data, { ...place, field: "connection", bound }, row.fields).toString(),
  );
  const displayName = openName(keys, place, { name: row.display_name, label: row.label });
  return {
    ...{ id: row.id, formula, displayName },
    fields: new Map(Object.entries(fields).map(([key, value]) => [key, new Sensitive(value)])),
    ...{ acceptedCountries: row.accepted_countries, acceptedCurrencies: row.accepted_currencies },
    ...{ active: row.active, status: row.status, checks: row.checks, revision: row.revision },
  };
}

/**
 * The connection that a payment was made through, if it still leads to the same service. A different service does not
 * know the payment and would charge it a second time.
 */
export function connectionOf(
  keys: TenantKeys,
  tenantId: TenantId,
  row: ConnectionRow | null,
  payment: { readonly connection: { readonly formulaId: FormulaId } },
): Connection | undefined {
  const connection = row ? openConnection(keys, tenantId, row) : undefined;
  return connection?.formula.id === payment.connection.formulaId ? connection : undefined;
}

function rowOf(tenantId: TenantId, keys: TenantKeys, connection: Connection) {
  const { id, formula, fields, displayName, acceptedCountries, acceptedCurrencies, active, status, checks } =
    connection;
  const written = Object.fromEntries([...fields].map(([key, value]) => [key, value.reveal()]));
  const plain = {
    ...{ formula_id: formula.id, active },
    ...{ accepted_countries: [...acceptedCountries], accepted_currencies: [...acceptedCurrencies] },
  };
  const place = { tenantId, entity: id };
  const bound = encodeAad(plain, AAD_COLUMNS.connections);
  const { name, label } = nameColumns(keys, place, displayName);
  return {
    ...{ id, ...plain, display_name: name, label, status, checks },
    fields: seal(keys.data, { ...place, field: "connection", bound }, Buffer.from(JSON.stringify(written))),
  };
}
