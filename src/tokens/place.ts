import { actorOf, type Caller } from "../access/caller.js";
import { storedContainer } from "../access/container.js";
import type { AccessTarget } from "../access/grant.js";
import { denied } from "../access/refusal.js";
import { logEntry } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { findTokenHead } from "../store/tokens/token-reads.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { entityTypeOf } from "./entity.js";
import { tokenType } from "./types/registry.js";

/** Finds what access rules check of a token, for a caller who may read the token. Its value stays sealed. */
export async function accessTargetOf(tx: Transaction, caller: Caller, id: string): Promise<AccessTarget> {
  const row = await findTokenHead(tx, id);
  if (!row) throw notFound("token");
  const entityType = entityTypeOf(tokenType(row.type));
  const place = { id, containers: row.containers.map(storedContainer) };
  if (!caller.grant.transformFor("token:read", place)) throw denied(caller, "token:read", entityType, id);
  writeLog(tx, logEntry(actorOf(caller), entityType, id, "read", "access explained"));
  return place;
}
