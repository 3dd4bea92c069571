import type { CallerTransaction } from "../access/caller-transaction.js";
import { Grant } from "../access/grant.js";
import { denied } from "../access/refusal.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { findTokensAs } from "./detokenize.js";
import type { ReadableToken } from "./read.js";

/** A plain permission shows masked values, which limits whatever else the caller may see. */
const MASKED = { permissions: ["token:read"], rules: [] } as const;

/**
 * Finds the tokens of a sample, with which code is tried, as its caller reads them: masked at most. Each leaves a row of
 * the log.
 * @throws {Fault} permission_denied, for a caller that reads no tokens at all before any is looked up; validation_failed
 * for tokens that do not exist, as in a call.
 */
export async function findSampleTokens(
  tx: CallerTransaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReadableToken>> {
  const { caller } = tx;
  if (!caller.grant.holds("token:read")) throw denied(caller, "token:read", "token", ANY_ENTITY_ID);
  const masked = { ...caller, grant: new Grant(MASKED, caller.grant) };
  const found = await findTokensAs(tx, [masked], ids, "read");
  if ("denied" in found) throw denied(caller, "token:read", found.denied.type, found.denied.id);
  return found.tokens;
}
