import { actorOf, type Caller } from "../access/caller.js";
import { denied } from "../access/refusal.js";
import { type LogEntry, logEntry } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { countToken } from "../store/tokens/token-counts.js";
import { deleteCvc } from "../store/tokens/token-cvc.js";
import { lockToken } from "../store/tokens/token-reads.js";
import { deleteTerm } from "../store/tokens/token-terms.js";
import { deleteExpiredTokenRow, deleteTokenRow, type TokenRow } from "../store/tokens/tokens.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { entityTypeOf } from "./entity.js";
import { indexValuesOf } from "./prepare.js";
import { openToken } from "./sealing.js";
import { termsOf } from "./terms.js";
import { tokenType } from "./types/registry.js";

/**
 * Deletes a token and all its rows.
 * @throws {Fault} not_found; {Denied}.
 */
export async function deleteToken(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
  id: string,
): Promise<void> {
  const row = await lockToken(tx, id);
  if (!row) throw notFound("token");
  const token = openToken(keys, tx.tenantId, row);
  const entityType = entityTypeOf(token.type);
  if (!caller.grant.transformFor("token:delete", token)) throw denied(caller, "token:delete", entityType, id);
  await removeToken(tx, keys, row, logEntry(actorOf(caller), entityType, id, "delete"));
}

/**
 * Removes an expired token whose id or content a request wants.
 * @returns false if it changed meanwhile, or has not expired by the database's clock.
 */
export function removeExpiredToken(tx: Transaction, keys: TenantKeys, row: TokenRow): Promise<boolean> {
  return removeToken(tx, keys, row, expiryEntry(row), deleteExpiredTokenRow);
}

/** The log row of an expired token. */
export function expiryEntry(row: TokenRow): LogEntry {
  return logEntry(undefined, entityTypeOf(tokenType(row.type)), row.id, "expire");
}

/**
 * Removes a token's rows, unless the token changed since it was read. Its search terms are recomputed from the token
 * itself, which saves an index of terms by token.
 * @returns whether this call removed it.
 * @throws {SealBroken} before anything is written.
 */
export async function removeToken(
  tx: Transaction,
  keys: TenantKeys,
  row: TokenRow,
  entry: LogEntry,
  deleteRow = deleteTokenRow,
): Promise<boolean> {
  const token = openToken(keys, tx.tenantId, row);
  if (!(await deleteRow(tx, { id: row.id, revision: row.revision }))) return false;
  const { type, attributes, containers, createdAt } = token;
  const findable = { id: row.id, createdAt, containers, metadata: attributes.metadata ?? {} };
  for (const term of termsOf(keys, { ...findable, indexValues: indexValuesOf(token) })) deleteTerm(tx, term);
  deleteCvc(tx, row.id);
  countToken(tx, { type: type.name, change: -1, createdAt: undefined });
  writeLog(tx, entry);
  return true;
}
