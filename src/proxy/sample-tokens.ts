import type { CallerTransaction } from "../access/caller-transaction.js";
import { Grant } from "../access/grant.js";
import { denied } from "../access/refusal.js";
import type { Json } from "../base/json.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { detokenize, findTokensAs, type GrantedTokens, openTokens, referencedTokens } from "../tokens/detokenize.js";

/** Where the expressions of a sample request stand, as errors name it. */
const ROOT = "request.body";

/** A plain permission shows masked values, which limits whatever else the caller may see. */
const MASKED = { permissions: ["token:read"], rules: [] } as const;

/** The ids of the tokens that a sample request refers to. @throws {Fault} validation_failed for more than 100. */
export function tokensOfSample(body: Json): readonly string[] {
  return referencedTokens(body, ROOT);
}

/**
 * Finds the tokens of a sample request as its caller reads them, masked at most. Each leaves a row of the log.
 * @throws {Fault} permission_denied; not_found.
 */
export async function findSampleTokens(tx: CallerTransaction, ids: readonly string[]): Promise<GrantedTokens> {
  const { caller } = tx;
  const masked = { ...caller, grant: new Grant(MASKED, caller.grant) };
  const found = await findTokensAs(tx, [masked], ids, "read");
  if ("denied" in found) throw denied(caller, "token:read", found.denied.type, found.denied.id);
  return found;
}

/** The body with its expressions evaluated. */
export async function evaluateSample(keys: TenantKeys, body: Json, { tokens }: GrantedTokens): Promise<Json> {
  return detokenize(body, ROOT, await openTokens(keys, tokens));
}
