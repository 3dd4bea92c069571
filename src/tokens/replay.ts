import type { Transform } from "../access/access-rule.js";
import { actorOf, type Caller } from "../access/caller.js";
import { storedContainer } from "../access/container.js";
import type { AccessTarget } from "../access/grant.js";
import { denied } from "../access/refusal.js";
import { type LogEntry, logEntry } from "../audit/log-entry.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import {
  findBoundedToken,
  findToken,
  findTokenHead,
  isLargeToken,
  type LargeToken,
  SMALL_TOKEN_BYTES,
} from "../store/tokens/token-reads.js";
import type { TokenRowWithCvc } from "../store/tokens/tokens.js";
import { MAX_READ_BYTES } from "../store/transactions/large-reads.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { entityTypeOf } from "./entity.js";
import { openToken } from "./sealing.js";
import { tokenType } from "./types/registry.js";
import { type Showing, type TokenView, viewOf, writeResponseTransform } from "./view.js";

/** The stored part of a token in an earlier answer, without its value. */
export interface KeptToken {
  readonly id: string;
  readonly type: string;
  readonly containers: readonly string[];
  readonly createdAt: Date | undefined;
  readonly modifiedAt: Date | undefined;
  /** The request matched an older token with the same content. */
  readonly deduplicated: boolean;
}

/** A token of an earlier answer, still sealed, and the caller's current transform. */
export interface ReplayedToken {
  readonly row: TokenRowWithCvc;
  readonly transform: Transform;
}

/** Bytes of large tokens that the replay of one answer may still read. */
export interface ReplayBudget {
  left: number;
}

export function newReplayBudget(): ReplayBudget {
  return { left: MAX_READ_BYTES };
}

/**
 * Reads a token of an earlier answer again. The right that the first request needed must still apply, for the token's
 * current containers, or for its last ones if it is deleted.
 * @param log takes the log row of the replay, to be written after every other token of the answer is allowed.
 * @returns undefined if only the stored part may be shown: the token is deleted, the caller may not see later changes by
 *   others, or the tokens of the answer have grown too large to be read together.
 * @throws {MemoryNeeded}; {Denied}.
 */
export async function findReplayedToken(
  tx: Transaction,
  caller: Caller,
  permission: "token:create" | "token:update",
  kept: KeptToken,
  log: (entry: LogEntry) => void,
  budget: ReplayBudget,
): Promise<ReplayedToken | undefined> {
  const { grant } = caller;
  const found = await findBoundedToken(tx, { id: kept.id, maxBytes: SMALL_TOKEN_BYTES });
  // The id may belong to another token by now.
  const row = found && isTime(kept.createdAt, found.created_at) ? found : undefined;
  const place: AccessTarget = { id: kept.id, containers: (row?.containers ?? kept.containers).map(storedContainer) };
  const entityType = entityTypeOf(tokenType(row?.type ?? kept.type));
  const right =
    permission === "token:create" ? grant.transformForAll(permission, place) : grant.transformFor(permission, place);
  // A deduplicated answer shows a token that may be in a container where the caller cannot create tokens.
  if (!right && !kept.deduplicated) throw denied(caller, permission, entityType, kept.id);
  log(logEntry(actorOf(caller), entityType, kept.id, "replay"));
  if (!row) return undefined;
  // A caller who created the token sees what it sent. Later changes need the right to read; a caller who may update
  // tokens sees their masks in any case.
  const isUnchanged = isTime(kept.modifiedAt, row.modified_at ?? undefined);
  const isOwnContent = !kept.deduplicated && (permission === "token:update" || isUnchanged);
  const transform = isOwnContent ? right : grant.transformFor("token:read", place);
  if (!transform) return undefined;
  const whole = isLargeToken(row) ? await readWithin(tx, row, budget) : row;
  return whole && { row: whole, transform };
}

/** A single token may be larger than the limit for several. */
async function readWithin(
  tx: Transaction,
  { id, sealedBytes }: LargeToken,
  budget: ReplayBudget,
): Promise<TokenRowWithCvc | undefined> {
  if (sealedBytes > budget.left && budget.left < MAX_READ_BYTES) return undefined;
  budget.left -= sealedBytes;
  return findToken(tx, id);
}

/** A replayed token as in the answer of a write, without the card's verification code in its mask. */
export function showReplayedToken(
  { tenantId }: Caller,
  keys: TenantKeys,
  { row, transform }: ReplayedToken,
  showing: Showing,
): TokenView {
  return viewOf(tenantId, openToken(keys, tenantId, { ...row, cvc: null }), writeResponseTransform(transform), showing);
}

/**
 * Reads again a value of a tokenize request that was answered with only a token's id. A token that the caller created
 * still needs the right to create it; an older token with the same content was found without any right to it.
 */
export async function findReplayedLeaf(
  tx: Transaction,
  caller: Caller,
  id: string,
  log: (entry: LogEntry) => void,
): Promise<void> {
  const row = await findTokenHead(tx, id);
  const entityType = entityTypeOf(tokenType(row?.type ?? "token"));
  const place = { id, containers: (row?.containers ?? []).map(storedContainer) };
  const isOwn = row?.created_by === actorOf(caller).id;
  if (isOwn && !caller.grant.transformForAll("token:create", place)) {
    throw denied(caller, "token:create", entityType, id);
  }
  log(logEntry(actorOf(caller), entityType, id, "replay"));
}

function isTime(one: Date | undefined, other: Date | undefined): boolean {
  return one?.getTime() === other?.getTime();
}
