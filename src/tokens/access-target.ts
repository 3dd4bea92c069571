import type { CallerTransaction } from "../access/caller-transaction.js";
import { storedPaths } from "../access/container.js";
import type { AccessTarget } from "../access/grant.js";
import { denied } from "../access/refusal.js";
import { notFound } from "../base/fault.js";
import { findTokenHead } from "../store/tokens/token-reads.js";
import { loggedTokenType } from "./entity.js";
import { tokenType } from "./types/registry.js";

/** Finds what access rules check of a token, for a caller who may read the token. Its value stays sealed. */
export async function tokenAccessTarget(tx: CallerTransaction, id: string): Promise<AccessTarget> {
  const row = await findTokenHead(tx, id);
  if (!row) throw notFound("token");
  const entityType = loggedTokenType(tokenType(row.type));
  const target = { id, containers: storedPaths(row.containers) };
  if (!tx.caller.grant.transformFor("token:read", target)) throw denied(tx.caller, "token:read", entityType, id);
  tx.log(entityType, id, "read", "access explained");
  return target;
}
