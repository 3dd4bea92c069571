import type { Fault } from "../base/fault.js";
import { findBoundedToken, isLargeToken, type LargeToken, SMALL_TOKEN_BYTES } from "../store/tokens/token-reads.js";
import type { TokenRowWithCvc } from "../store/tokens/tokens.js";
import type { Transaction } from "../store/transactions/transaction.js";

/** Tokens per query. The small ones of a group have at most {@link SMALL_TOKEN_BYTES} together. */
const GROUP = 20;
/** Groups per query of an export, whose transactions are its own: no other request waits behind its statement. */
const GROUPS_AT_ONCE = 5;

/** Sealed bytes that several tokens of one request may have together. A single token may be larger. */
export interface ReadLimit {
  readonly maxBytes: number;
  /** Reads the first tokens that stay within it, and at least one, in place of a fault. */
  readonly isCut?: boolean;
  tooMany(): Fault;
}

/**
 * Reads tokens for one request: large ones after memory for all of them is reserved.
 * @returns a row for each id, or for the first ids if the limit cuts.
 * @throws {MemoryNeeded}
 */
export async function readTokenRows(
  tx: Transaction,
  ids: readonly string[],
  limit: ReadLimit,
): Promise<readonly (TokenRowWithCvc | undefined)[]> {
  const atOnce = limit.isCut ? GROUP * GROUPS_AT_ONCE : GROUP;
  return loadTokenRows(tx, await findTokenRows(tx, ids, atOnce, limit.isCut ? limit.maxBytes : undefined), limit);
}

/**
 * Finds tokens for {@link loadTokenRows}: a caller is refused between both, before the size of anything counts.
 * @param enoughBytes ends the search at a query after which the tokens found have more.
 */
export async function findTokenRows(
  tx: Transaction,
  ids: readonly string[],
  atOnce = GROUP,
  enoughBytes = Number.POSITIVE_INFINITY,
): Promise<readonly FoundToken[]> {
  const all: FoundToken[] = [];
  for (let from = 0; from < ids.length && sealedBytesTogether(all) <= enoughBytes; from += atOnce) {
    const group = ids.slice(from, from + atOnce);
    const maxBytes = Math.floor(SMALL_TOKEN_BYTES / Math.min(group.length, GROUP));
    all.push(...(await Promise.all(group.map((id) => tx.query(findBoundedToken, { id, maxBytes })))));
  }
  return all;
}

/**
 * Loads the values of tokens that were found. Returns `all` itself if all of them were small enough to be read at once.
 * @throws {MemoryNeeded} as {@link readTokenRows}.
 */
export async function loadTokenRows(
  tx: Transaction,
  all: readonly FoundToken[],
  limit: ReadLimit,
): Promise<readonly (TokenRowWithCvc | undefined)[]> {
  const found = limit.isCut ? firstWithin(limit.maxBytes, all) : all;
  const bytes = sealedBytesTogether(found);
  if (found.length > 1 && bytes > limit.maxBytes) throw limit.tooMany();
  if (bytes > SMALL_TOKEN_BYTES) tx.reserve(bytes);
  if (found.every(isLoaded)) return found;
  return Promise.all(found.map((token) => (isLoaded(token) ? token : readLarge(tx, token, limit))));
}

/** A token. If it is large, its values are not loaded. Undefined: no token has the id. */
export type FoundToken = TokenRowWithCvc | LargeToken | undefined;

function isLoaded(token: FoundToken): token is TokenRowWithCvc | undefined {
  return token === undefined || !isLargeToken(token);
}

function firstWithin(maxBytes: number, tokens: readonly FoundToken[]): readonly FoundToken[] {
  let bytes = 0;
  const exceeding = tokens.findIndex((token) => {
    bytes += sealedBytesOf(token);
    return bytes > maxBytes;
  });
  return exceeding < 0 ? tokens : tokens.slice(0, Math.max(1, exceeding));
}

function sealedBytesTogether(tokens: readonly FoundToken[]): number {
  return tokens.reduce((sum, token) => sum + sealedBytesOf(token), 0);
}

function sealedBytesOf(token: FoundToken): number {
  if (!token) return 0;
  return isLargeToken(token) ? token.sealedBytes : token.data.length + (token.attributes?.length ?? 0);
}

async function readLarge(
  tx: Transaction,
  { id, sealedBytes }: LargeToken,
  limit: ReadLimit,
): Promise<TokenRowWithCvc | undefined> {
  const token = await tx.query(findBoundedToken, { id, maxBytes: sealedBytes });
  // It has grown since its size was read.
  if (token && isLargeToken(token)) throw limit.tooMany();
  return token;
}
