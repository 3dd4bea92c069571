import { isDeepStrictEqual } from "node:util";
import { loggedActor } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { denied } from "../access/refusal.js";
import { logEntry } from "../audit/log-entry.js";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import { notFound } from "../base/fault.js";
import { yieldToEventLoop } from "../base/yield-to-event-loop.js";
import { scheduleDue } from "../store/jobs/due.js";
import { deleteCvc } from "../store/tokens/token-cvc.js";
import { findConflictingTokens, lockToken } from "../store/tokens/token-reads.js";
import { deleteTerm, insertTerm, type TermRow } from "../store/tokens/token-terms.js";
import { type TokenRow, type TokenRowWithCvc, updateTokenRow } from "../store/tokens/tokens.js";
import { countMonthlyActivity } from "./activity.js";
import { showDuplicate, writeCvc } from "./create.js";
import { removeExpiredToken } from "./delete.js";
import { loggedTokenType } from "./entity.js";
import { tokenEventContent } from "./event-content.js";
import { applyPatch, type PatchedToken, patchTransform, requireImmutableUnchanged } from "./patch.js";
import { storedIndexValues } from "./prepare.js";
import { openToken, sealToken, splitCvc, tokenDataText } from "./sealing.js";
import { requireStorable } from "./stored-size.js";
import { tokenTerms } from "./terms.js";
import type { Token } from "./token.js";
import type { TokenPatch } from "./token-patch.js";
import { type Showing, type TokenView, viewInTurns, writeResponseTransform } from "./view.js";

/** A patch as it arrived. */
export interface ReceivedPatch {
  readonly patch: TokenPatch;
  readonly bodyBytes: number;
  /** Size limit of a request, and so of what is stored. */
  readonly maxBytes: number;
}

/**
 * If the patch would make it a duplicate of another token, returns that one and changes nothing.
 * @throws {Fault} not_found, validation_failed; {Denied}.
 */
export async function updateToken(
  tx: OrdinaryCallerTransaction,
  id: string,
  received: ReceivedPatch,
  showing: Showing = {},
): Promise<TokenView> {
  const { patch, bodyBytes } = received;
  const row = await lockToken(tx, id);
  if (!row) throw notFound("token");
  const bytes = Math.max(row.data.length, bodyBytes);
  const token = openToken(tx.keys, row);
  await yieldToEventLoop(bytes);
  const entityType = loggedTokenType(token.type);
  const transform = patchTransform(tx.caller.grant, token, patch);
  if (!transform) throw denied(tx.caller, "token:update", entityType, id);
  requireImmutableUnchanged(tx.tenantId, token, patch);
  const shown = writeResponseTransform(transform);
  const { settings, principal } = tx.caller;
  const patched = applyPatch({ settings, principal, transform, keys: tx.keys, now: tx.now }, token, patch);
  await yieldToEventLoop(bytes);
  const duplicate = await findDuplicate(tx, row, patched);
  if (duplicate) return showDuplicate(tx, duplicate, showing);

  const { cvc: _, ...changed } = patched;
  const updated = { ...token, ...changed, modifiedBy: loggedActor(tx.caller).id, modifiedAt: tx.now };
  const hasChanged = isChanged(token, patched);
  tx.record(logEntry(entityType, id, "update", { actor: tx.author }), () =>
    tokenEventContent(hasChanged ? updated : token),
  );
  if (!hasChanged) return viewInTurns(tx.tenantId, token, shown, showing);
  await yieldToEventLoop(bytes);
  const text = tokenDataText(splitCvc(row.type, patched.data.reveal()).data);
  await yieldToEventLoop(bytes);
  requireSizes(token, received, patched, text);
  await yieldToEventLoop(bytes);
  updateTokenRow(tx, changeOf(tx, row, patched, text));
  rewriteCompanions(tx, token, patched);
  await countMonthlyActivity(tx, id, row.active_month);
  return viewInTurns(tx.tenantId, updated, shown, showing);
}

/**
 * Finds another token with the same content, if the patched one is to be deduplicated. Removes an expired duplicate.
 */
async function findDuplicate(
  tx: OrdinaryTenantTransaction,
  row: TokenRow,
  patched: PatchedToken,
): Promise<TokenRowWithCvc | undefined> {
  const dedupeKey = dedupeKeyOf(patched);
  if (!dedupeKey || row.dedupe_key?.equals(dedupeKey)) return undefined;
  const conflicting = await findConflictingTokens(tx, { id: row.id, dedupeKey });
  const duplicate = conflicting.find(({ id }) => id !== row.id);
  if (!duplicate?.expires_at || duplicate.expires_at > tx.now) return duplicate;
  return (await removeExpiredToken(tx, duplicate)) ? undefined : duplicate;
}

function dedupeKeyOf({ isDeduplicated, fingerprint }: PatchedToken): Buffer | undefined {
  return isDeduplicated ? fingerprint : undefined;
}

function isChanged(token: Token, patched: PatchedToken): boolean {
  const same =
    patched.cvc === undefined &&
    isDeepStrictEqual(token.data.reveal(), patched.data.reveal()) &&
    isDeepStrictEqual(token.attributes, patched.attributes) &&
    isDeepStrictEqual(token.containers, patched.containers) &&
    isDeepStrictEqual(token.expiry?.text, patched.expiry?.text) &&
    isDeepStrictEqual(token.fingerprint, patched.fingerprint) &&
    token.isDeduplicated === patched.isDeduplicated;
  return !same;
}

/** @param text the patched data. @throws {Fault} validation_failed if a merge has become too large. */
function requireSizes(token: Token, { patch, maxBytes }: ReceivedPatch, patched: PatchedToken, text: Buffer): void {
  const mask = tokenDataText(patched.attributes.mask ?? null);
  if (patch.data !== undefined) {
    const bytesBefore = () => tokenDataText(splitCvc(token.type.name, token.data.reveal()).data).length;
    const field = patch.dataField ?? "data";
    requireStorable({ field, after: text, bytesBefore, otherBytes: mask.length }, maxBytes);
  }
  if (patch.mask === undefined) return;
  const bytesBefore = () => tokenDataText(token.attributes.mask ?? null).length;
  requireStorable({ field: "mask", after: mask, bytesBefore, otherBytes: text.length }, maxBytes);
}

function changeOf(tx: CallerTransaction, row: TokenRow, patched: PatchedToken, text: Buffer) {
  const { id, type } = row;
  const changed = {
    id,
    containers: patched.containers,
    fingerprint: patched.fingerprint ?? null,
    dedupe_key: dedupeKeyOf(patched) ?? null,
  };
  const bound = { ...changed, containers: [...patched.containers], type, revision: row.revision + 1 };
  return {
    ...changed,
    ...sealToken(tx.keys, bound, { text, attributes: patched.attributes, indexValues: patched.indexValues }),
    expires_at: patched.expiry?.at ?? null,
    expires_at_text: patched.expiry?.text ?? null,
    modified_by: loggedActor(tx.caller).id,
  };
}

/** Updates search terms, verification code and due times after the change. */
function rewriteCompanions(tx: TenantTransaction, token: Token, patched: PatchedToken): void {
  const { id, createdAt } = token;
  const before = tokenTerms(tx.keys, {
    id,
    createdAt,
    containers: token.containers,
    metadata: token.attributes.metadata ?? {},
    indexValues: storedIndexValues(token),
  });
  const after = tokenTerms(tx.keys, {
    id,
    createdAt,
    containers: patched.containers,
    indexValues: patched.indexValues,
    metadata: patched.attributes.metadata ?? {},
  });
  for (const term of missingIn(after, before)) tx.enqueue(deleteTerm, term);
  for (const term of missingIn(before, after)) tx.enqueue(insertTerm, term);
  if (patched.cvc === null) tx.enqueue(deleteCvc, id);
  else if (patched.cvc !== undefined) writeCvc(tx, id, patched.cvc);
  if (patched.expiry && patched.expiry.text !== token.expiry?.text)
    scheduleDue(tx, { kind: "token", at: patched.expiry.at });
}

function missingIn(others: readonly TermRow[], candidates: readonly TermRow[]): TermRow[] {
  return candidates.filter(({ term }) => !others.some((other) => other.term.equals(term)));
}
