import type { OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { denied } from "../access/refusal.js";
import { type LogEntry, logEntry } from "../audit/log-entry.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { notFound } from "../base/fault.js";
import { countToken } from "../store/tokens/token-counts.js";
import { deleteCvc } from "../store/tokens/token-cvc.js";
import { lockToken } from "../store/tokens/token-reads.js";
import { deleteTerm } from "../store/tokens/token-terms.js";
import { deleteExpiredTokenRow, deleteTokenRow, type TokenRow } from "../store/tokens/tokens.js";
import { loggedTokenType } from "./entity.js";
import { storedIndexValues } from "./prepare.js";
import { openToken } from "./sealing.js";
import { tokenTerms } from "./terms.js";
import { tokenType } from "./types/registry.js";

/** @throws {Fault} not_found; {Denied}. */
export async function deleteToken(tx: OrdinaryCallerTransaction, id: string): Promise<void> {
  const row = await lockToken(tx, id);
  if (!row) throw notFound("token");
  const token = openToken(tx.keys, row);
  const entityType = loggedTokenType(token.type);
  if (!tx.caller.grant.transformFor("token:delete", token)) throw denied(tx.caller, "token:delete", entityType, id);
  await removeToken(tx, row, logEntry(entityType, id, "delete", { actor: tx.author }));
}

/**
 * Removes an expired token whose id or content a request wants.
 * @returns false if it changed meanwhile, or has not expired by the database's clock.
 */
export function removeExpiredToken(tx: TenantTransaction, row: TokenRow): Promise<boolean> {
  return removeToken(tx, row, expiryEntry(row), deleteExpiredTokenRow);
}

export function expiryEntry(row: TokenRow): LogEntry {
  return logEntry(loggedTokenType(tokenType(row.type)), row.id, "expire");
}

/**
 * Removes a token's rows, unless the token changed since it was read. Its search terms are recomputed from the token
 * itself, which saves an index of terms by token.
 * @returns whether this call removed it.
 * @throws {SealBroken} before anything is written.
 */
export async function removeToken(
  tx: TenantTransaction,
  row: TokenRow,
  entry: LogEntry,
  deleteRow = deleteTokenRow,
): Promise<boolean> {
  const token = openToken(tx.keys, row);
  if (!(await tx.query(deleteRow, { id: row.id, revision: row.revision }))) return false;
  const { type, attributes, containers, createdAt } = token;
  const findable = { id: row.id, createdAt, containers, metadata: attributes.metadata ?? {} };
  for (const term of tokenTerms(tx.keys, { ...findable, indexValues: storedIndexValues(token) }))
    tx.enqueue(deleteTerm, term);
  tx.enqueue(deleteCvc, row.id);
  tx.enqueue(countToken, { type: type.name, change: -1, createdAt: undefined });
  tx.record(entry);
  return true;
}
