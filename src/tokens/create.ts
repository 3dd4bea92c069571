import type { CallerTransaction } from "../access/caller-transaction.js";
import { denied } from "../access/refusal.js";
import { logEntry } from "../audit/log-entry.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault } from "../base/fault.js";
import { firstOfMonth } from "../base/month.js";
import { scheduleDue } from "../store/jobs/due.js";
import { countActiveToken, countToken } from "../store/tokens/token-counts.js";
import { upsertCvc } from "../store/tokens/token-cvc.js";
import { findConflictingTokens } from "../store/tokens/token-reads.js";
import { insertTerm } from "../store/tokens/token-terms.js";
import { insertToken, insertTokenIfFree, type TokenRow, type TokenRowWithCvc } from "../store/tokens/tokens.js";
import { countMonthlyActivity } from "./activity.js";
import { removeExpiredToken } from "./delete.js";
import { loggedTokenType } from "./entity.js";
import { tokenEventContent } from "./event-content.js";
import type { PreparedToken } from "./prepare.js";
import { chooseId, sealUnder } from "./seal-ahead.js";
import { openToken, type SealedToken, sealCvc } from "./sealing.js";
import { tokenTerms } from "./terms.js";
import type { Token } from "./token.js";
import { referenceOnlyView, type Showing, type TokenView, viewToken, writeResponseTransform } from "./view.js";

/** PCI DSS 3.3.1 forbids keeping a verification code after authorization; an hour is enough to authorize (decision 0014). */
export const CVC_LIFETIME_MS = 60 * 60 * 1_000;

/**
 * An insert may conflict with an expired token that no sweep has removed yet, or its alias may be taken.
 * {@link resolveConflict} removes the expired token, {@link chooseId} takes the next alias, and the insert is tried again.
 */
const INSERT_TRIES = 8;

/**
 * Stores a prepared token with its companion rows, or finds the existing token that it duplicates.
 * @param showing "reference" for a response that shows nothing but id and fingerprint.
 * @returns the token as the response shows it: see {@link writeResponseTransform}.
 */
export async function createToken(
  tx: CallerTransaction,
  prepared: PreparedToken,
  showing: Showing | "reference" = {},
): Promise<TokenView> {
  for (let attempt = 0; attempt < INSERT_TRIES; attempt += 1) {
    const ahead = attempt === 0 ? prepared.sealed : undefined;
    const id = ahead?.id ?? chooseId(prepared, attempt > 0);
    const transform = tx.caller.grant.transformForAll("token:create", { id, containers: prepared.containers });
    if (!transform) throw denied(tx.caller, "token:create", loggedTokenType(prepared.type), id);

    const sealed = ahead ?? sealUnder(id, tx.keys, prepared);
    const row = newTokenRow(tx, prepared, sealed);
    if (prepared.idChoice.kind === "ours" && !prepared.isDeduplicated) {
      tx.enqueue(insertToken, row);
    } else if (!(await tx.query(insertTokenIfFree, row))) {
      const outcome = await resolveConflict(tx, prepared, row, showing);
      if (outcome === "try again") continue;
      return outcome;
    }
    writeCompanions(tx, prepared, row, sealed.cvc);
    if (showing === "reference") {
      const { type, fingerprint, containers } = prepared;
      return referenceOnlyView(tx.tenantId, { id, type, fingerprint, containers }, false);
    }
    const shown: Showing = { ...showing, masked: prepared.masked, deduplicated: false };
    return viewToken(tx.tenantId, createdToken(prepared, row), writeResponseTransform(transform), shown);
  }
  throw new Fault("conflict", "Tokens of the same id or content keep being created. Try again.");
}

function newTokenRow(tx: CallerTransaction, { expiry }: PreparedToken, sealed: SealedToken): TokenRow {
  return {
    id: sealed.id,
    type: sealed.type,
    data: sealed.data,
    attributes: sealed.attributes,
    containers: sealed.containers,
    fingerprint: sealed.fingerprint,
    dedupe_key: sealed.dedupe_key,
    revision: sealed.revision,
    expires_at: expiry?.at ?? null,
    expires_at_text: expiry?.text ?? null,
    active_month: firstOfMonth(tx.now),
    created_by: tx.author.id,
    created_at: tx.now,
    modified_by: null,
    modified_at: null,
  };
}

function createdToken(prepared: PreparedToken, row: TokenRow): Token {
  const { type, data, attributes, containers, fingerprint, isDeduplicated, indexValues, expiry } = prepared;
  return {
    id: row.id,
    type,
    data,
    attributes,
    containers,
    fingerprint,
    isDeduplicated,
    indexValues,
    expiry,
    createdBy: row.created_by,
    createdAt: row.created_at,
    modifiedBy: undefined,
    modifiedAt: undefined,
    revision: row.revision,
  };
}

/** Writes the rows beside a token's own, in the same transaction. */
function writeCompanions(tx: CallerTransaction, prepared: PreparedToken, row: TokenRow, cvc: Buffer | undefined): void {
  const { id, created_at: createdAt } = row;
  const { containers, indexValues, attributes, expiry, type } = prepared;
  for (const term of tokenTerms(tx.keys, {
    id,
    createdAt,
    containers,
    metadata: attributes.metadata ?? {},
    indexValues,
  })) {
    tx.enqueue(insertTerm, term);
  }
  if (cvc !== undefined) storeCvc(tx, id, cvc);
  if (expiry) scheduleDue(tx, { kind: "token", at: expiry.at });
  tx.enqueue(countToken, { type: type.name, change: 1, createdAt });
  countActiveToken(tx, row.active_month);
  tx.record(logEntry(loggedTokenType(type), id, "create", { actor: tx.author }), () =>
    tokenEventContent(createdToken(prepared, row)),
  );
}

/** Stores a card's verification code for one hour. */
export function writeCvc(tx: TenantTransaction, tokenId: string, cvc: string): void {
  storeCvc(tx, tokenId, sealCvc(tx.keys, tokenId, cvc));
}

function storeCvc(tx: TenantTransaction, tokenId: string, code: Buffer): void {
  const dueAt = new Date(tx.now.getTime() + CVC_LIFETIME_MS);
  tx.enqueue(upsertCvc, { token_id: tokenId, code, due_at: dueAt });
  scheduleDue(tx, { kind: "cvc", at: dueAt });
}

/** Resolves a conflict with a stored token: its duplicate, one with the same id, or one that has expired. */
async function resolveConflict(
  tx: CallerTransaction,
  prepared: PreparedToken,
  row: TokenRow,
  showing: Showing | "reference",
): Promise<TokenView | "try again"> {
  const claim = { id: row.id, dedupeKey: row.dedupe_key };
  const found = await findConflictingTokens(tx, claim);
  const expired = found.filter(({ expires_at }) => expires_at !== null && expires_at <= tx.now);
  for (const token of expired) await removeExpiredToken(tx, token);
  // The database's clock decides: a token that is left has not expired by it, or was changed meanwhile.
  const conflicting = expired.length > 0 ? await findConflictingTokens(tx, claim) : found;
  const duplicate = conflicting.find(({ dedupe_key }) => dedupe_key && row.dedupe_key?.equals(dedupe_key));
  if (duplicate) return showDuplicate(tx, duplicate, showing);
  if (conflicting.length === 0 || prepared.idChoice.kind !== "given") return "try again";
  throw new Fault("already_exists", "There is a token with this id already.", { fields: { id: ["is taken"] } });
}

/**
 * Shows the existing token with the same content, masked at most. A caller without the right to read it learns only
 * that it exists.
 */
export async function showDuplicate(
  tx: CallerTransaction,
  duplicate: TokenRowWithCvc,
  showing: Showing | "reference",
): Promise<TokenView> {
  const token = openToken(tx.keys, duplicate);
  const transform = tx.caller.grant.transformFor("token:read", token);
  tx.log(loggedTokenType(token.type), token.id, transform ? "read" : "create", "deduplicated");
  if (transform) await countMonthlyActivity(tx, token.id, duplicate.active_month);
  return transform && showing !== "reference"
    ? viewToken(tx.tenantId, token, writeResponseTransform(transform), { ...showing, deduplicated: true })
    : referenceOnlyView(tx.tenantId, token, true);
}
