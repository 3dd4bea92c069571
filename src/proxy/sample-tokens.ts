import { buffer } from "node:stream/consumers";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { Grant } from "../access/grant.js";
import { denied } from "../access/refusal.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import type { TokenLookup } from "../expressions/detokenization.js";
import type { RequestMemory } from "../memory/request-memory.js";
import { findTokensAs, type GrantedTokens } from "../tokens/detokenize.js";
import { type ScannedRequest, scanReferences } from "./scanned-request.js";
import type { ProxySample } from "./test-proxy.js";

/** A plain permission shows masked values, which limits whatever else the caller may see. */
const MASKED = { permissions: ["token:read"], rules: [] } as const;

/** Finds the references of a sample request as those of a call are found. @throws errors of {@link scanReferences}. */
export function scanSample({ request }: ProxySample, memory: RequestMemory): Promise<ScannedRequest> {
  return scanReferences({ ...request, memory }, { isDetokenizing: true, hasSteps: true });
}

/**
 * Finds the tokens of a sample request as its caller reads them, masked at most. Each leaves a row of the log.
 * @throws {Fault} permission_denied, for a caller that reads no tokens at all before any is looked up; validation_failed
 * for tokens that do not exist, as in a call.
 */
export async function findSampleTokens(tx: CallerTransaction, ids: readonly string[]): Promise<GrantedTokens> {
  const { caller } = tx;
  if (!caller.grant.holds("token:read")) throw denied(caller, "token:read", "token", ANY_ENTITY_ID);
  const masked = { ...caller, grant: new Grant(MASKED, caller.grant) };
  const found = await findTokensAs(tx, [masked], ids, "read");
  if ("denied" in found) throw denied(caller, "token:read", found.denied.type, found.denied.id);
  return found;
}

/** The sample with its request as a call would send it, with masked values. @throws {Fault} as a call's. */
export async function resolvedSample(
  sample: ProxySample,
  { head, body, references }: ScannedRequest,
  lookup: TokenLookup,
): Promise<ProxySample> {
  references.resolve(lookup, sample.configuration);
  const { path, query } = head;
  const sent = body.send(head.headers);
  const bytes = Buffer.isBuffer(sent.body) ? sent.body : await buffer(sent.body);
  return { ...sample, request: { ...sample.request, path, query, headers: sent.headers, body: bytes } };
}
