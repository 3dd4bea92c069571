import type { Transform } from "../access/access-rule.js";
import { loggedActor } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { storedPaths } from "../access/container.js";
import { denied } from "../access/refusal.js";
import { type LogEntry, logEntry } from "../audit/log-entry.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import {
  findBoundedToken,
  findTokenHead,
  isLargeToken,
  type LargeToken,
  SMALL_TOKEN_BYTES,
} from "../store/tokens/token-reads.js";
import type { TokenRowWithCvc } from "../store/tokens/tokens.js";
import { MAX_READ_BYTES } from "../store/transactions/large-reads.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { loggedTokenType } from "./entity.js";
import { type KeptToken, replayRight } from "./replay-right.js";
import { openToken } from "./sealing.js";
import { tokenType } from "./types/registry.js";
import { type Showing, type TokenView, viewToken, writeResponseTransform } from "./view.js";

/** A token of an earlier response, still sealed, and the caller's current transform. */
export interface ReplayedToken {
  readonly row: TokenRowWithCvc;
  readonly transform: Transform;
}

export class ResponseReplay {
  /** Takes the log row of each token, to be written after every other token of the response is allowed. */
  readonly log: (entry: LogEntry) => void;
  /** Bytes of large tokens that it may still read. */
  left = MAX_READ_BYTES;

  constructor(log: (entry: LogEntry) => void) {
    this.log = log;
  }
}

/**
 * Reads a token of an earlier response again, as far as {@link replayRight} allows.
 * @returns undefined if only the stored part may be shown: the token is deleted, the caller may not see later changes by
 *   others, or the tokens of the response have grown too large to be read together.
 * @throws {MemoryNeeded}; {Denied}.
 */
export async function findReplayedToken(
  tx: CallerTransaction,
  permission: "token:create" | "token:update",
  kept: KeptToken,
  replay: ResponseReplay,
): Promise<ReplayedToken | undefined> {
  const found = await tx.query(findBoundedToken, { id: kept.id, maxBytes: SMALL_TOKEN_BYTES });
  const right = replayRight(tx.caller.grant, permission, kept, found);
  const entityType = loggedTokenType(tokenType(right.type));
  if (right.kind === "denied") throw denied(tx.caller, permission, entityType, kept.id);
  replay.log(logEntry(entityType, kept.id, "replay", { actor: tx.author }));
  if (right.kind === "kept") return undefined;
  const { row, transform } = right;
  const whole = isLargeToken(row) ? await readWithin(tx, row, replay) : row;
  return whole && { row: whole, transform };
}

/**
 * Reads the token whose head decided on the replay, and no later version of it. A single token may be larger than the
 * limit for several.
 */
async function readWithin(
  tx: Transaction,
  { id, sealedBytes, revision, created_at }: LargeToken,
  replay: ResponseReplay,
): Promise<TokenRowWithCvc | undefined> {
  if (sealedBytes > replay.left && replay.left < MAX_READ_BYTES) return undefined;
  replay.left -= sealedBytes;
  tx.reserve(sealedBytes);
  const whole = await tx.query(findBoundedToken, { id, maxBytes: sealedBytes });
  if (!whole || isLargeToken(whole)) return undefined;
  const isSame = whole.revision === revision && whole.created_at.getTime() === created_at.getTime();
  return isSame ? whole : undefined;
}

/** A replayed token as in the response of a write, without the card's verification code in its mask. */
export function showReplayedToken(keys: TenantKeys, { row, transform }: ReplayedToken, showing: Showing): TokenView {
  return viewToken(keys.tenantId, openToken(keys, { ...row, cvc: null }), writeResponseTransform(transform), showing);
}

/**
 * Reads again a value of a tokenize request that returned only a token's id. A token that the caller created
 * still needs the right to create it; an older token with the same content was found without any right to it.
 */
export async function findReplayedLeaf(tx: CallerTransaction, id: string, { log }: ResponseReplay): Promise<void> {
  const row = await findTokenHead(tx, id);
  const entityType = loggedTokenType(tokenType(row?.type ?? "token"));
  const target = { id, containers: storedPaths(row?.containers ?? []) };
  const isOwn = row?.created_by === loggedActor(tx.caller).id;
  if (isOwn && !tx.caller.grant.transformForAll("token:create", target)) {
    throw denied(tx.caller, "token:create", entityType, id);
  }
  log(logEntry(entityType, id, "replay", { actor: tx.author }));
}
