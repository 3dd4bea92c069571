import { loggedActor } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { storedPaths } from "../access/container.js";
import { mightNeedReason, requireReason } from "../access/reveal-reason.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { MAX_PAGE_BYTES, type Page, type PageRequest, pageOffset, pageTooLarge } from "../base/page.js";
import { countTokenKeys, type KeyPage, sumTokenCounts } from "../store/tokens/token-keys.js";
import type { TokenKey, TokenSelection } from "../store/tokens/token-selection.js";
import type { TokenRowWithCvc } from "../store/tokens/tokens.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { countMonthlyActivities } from "./activity.js";
import { loggedTokenType } from "./entity.js";
import type { ListMemory } from "./list-memory.js";
import type { ReadableToken } from "./read.js";
import { type ReadLimit, readTokenRows } from "./read-rows.js";
import { visibleScopes } from "./scope.js";
import { openToken } from "./sealing.js";
import type { Conjunction } from "./search/conjunctions.js";
import { findMatches } from "./search/find-matches.js";
import { countKeys, isDirect, isOneWalk, keysAtOnce, listKeys } from "./selected-keys.js";
import { selectTokens, type TokenQuery } from "./selection.js";
import { tokenType } from "./types/registry.js";

/** A page by number, newest first. Tokens that the caller may not see are neither shown nor counted. */
export async function listTokens(
  tx: CallerTransaction,
  query: TokenQuery,
  page: PageRequest,
  memory: ListMemory,
): Promise<Page<ReadableToken>> {
  const { ids, conjunctions } = query.filter;
  const found = ids
    ? await listByIds(tx, query, ids, page)
    : await (conjunctions ? listMatches(tx, query, conjunctions, page) : listByKeys(tx, query, page, memory));
  await logListing(tx, query, found.items);
  return found;
}

/** A list of ids is short: the tokens are read, and all other conditions are checked here. */
async function listByIds(
  tx: Transaction,
  query: TokenQuery,
  ids: readonly string[],
  page: PageRequest,
): Promise<Page<ReadableToken>> {
  const found = await findVisibleTokens(tx, query, [...new Set(ids)]);
  const all = found.filter((token) => recheckFilter(query, token));
  all.sort((a, b) => compareKeys(b.row, a.row));
  const offset = pageOffset(page);
  return { items: all.slice(offset, offset + page.size), total: all.length };
}

async function listMatches(
  tx: Transaction,
  query: TokenQuery,
  conjunctions: readonly Conjunction[],
  page: PageRequest,
): Promise<Page<ReadableToken>> {
  const scopes = visibleScopes(query.caller.grant, query.permission, query.keys);
  const { total, keys } = await findMatches(tx, conjunctions, scopes, page);
  const ids = keys.map(({ id }) => id);
  const items = await findVisibleTokens(tx, query, ids);
  return { items, total };
}

async function listByKeys(
  tx: Transaction,
  query: TokenQuery,
  page: PageRequest,
  memory: ListMemory,
): Promise<Page<ReadableToken>> {
  const { signal } = query;
  const selection = await selectTokens(tx, query);
  const list = listName(query);
  const before = page.page === 1 ? undefined : memory.endOfPage(list, page.size, page.page - 1);
  const counting = listTotal(tx, selection, list, { memory, signal });
  const walking =
    before || isNearStart(selection, page) ? keysFromStart(tx, selection, page, { before, signal }) : undefined;
  // Awaited together: if both fail, neither rejection is left unhandled.
  const [total, near] = await Promise.all([counting, walking]);
  if (pageOffset(page) >= total) return { items: [], total };
  const keys = near ?? (await keysFromNearerEnd(tx, selection, page, { total, signal }));
  const end = keys.at(-1);
  if (end && keys.length === page.size) memory.rememberEnd(list, page.size, page.page, end);
  const ids = keys.map(({ id }) => id);
  const items = await findVisibleTokens(tx, query, ids);
  return { items, total };
}

/** Skipping this many keys takes as long as waiting for the total first (0.4 ms). */
const NEAR = 2_000;

/** Whether the page is reached from the start, regardless of the number of tokens. */
function isNearStart(selection: TokenSelection, page: PageRequest): boolean {
  return isOneWalk(selection) && pageOffset(page) <= NEAR;
}

/** Starts after the last key of the page just served; otherwise skips the keys before the page. */
function keysFromStart(
  tx: Transaction,
  selection: TokenSelection,
  page: PageRequest,
  { before, signal }: { readonly before: TokenKey | undefined; readonly signal: AbortSignal | undefined },
): Promise<readonly TokenKey[]> {
  const offset = before ? 0 : pageOffset(page);
  const walk: KeyPage = { selection, order: "newest_first", after: before, offset, limit: page.size };
  return listKeys(tx, walk, { signal });
}

async function keysFromNearerEnd(
  tx: Transaction,
  selection: TokenSelection,
  page: PageRequest,
  { total, signal }: { readonly total: number; readonly signal: AbortSignal | undefined },
): Promise<readonly TokenKey[]> {
  const offset = pageOffset(page);
  if (offset <= total / 2) return keysFromStart(tx, selection, page, { before: undefined, signal });
  const limit = Math.min(page.size, total - offset);
  const walk: KeyPage = { selection, order: "oldest_first", after: undefined, offset: total - offset - limit, limit };
  return (await listKeys(tx, walk, { signal })).toReversed();
}

/**
 * Exact. A total that takes more than one step to count may be 30 seconds old, except for the whole tenant, which has
 * counters.
 */
async function listTotal(
  tx: Transaction,
  selection: TokenSelection,
  list: string,
  { memory, signal }: { readonly memory: ListMemory; readonly signal: AbortSignal | undefined },
): Promise<number> {
  if (isOneWalk(selection) && selection.source.kind === "all" && !selection.span?.from && !selection.span?.before)
    return tx.query(sumTokenCounts, tx.tenantId);
  const remembered = memory.largeTotal(list);
  if (remembered !== undefined) return remembered;
  const most = keysAtOnce(selection);
  if (isDirect(selection)) {
    const few = await tx.query(countTokenKeys, { selection, most: most + 1 });
    if (few <= most) {
      memory.forgetTotal(list);
      return few;
    }
  }
  const total = await countKeys(tx, selection, { signal });
  if (total > most) memory.rememberTotal(list, total);
  else memory.forgetTotal(list);
  return total;
}

/** The tokens with these ids that the caller may see, in this order. */
async function findVisibleTokens(tx: Transaction, query: TokenQuery, ids: readonly string[]): Promise<ReadableToken[]> {
  return visibleTokens(query, await readTokenRows(tx, ids, PAGE_LIMIT));
}

export function visibleTokens(
  { caller, permission, mayShow = () => true }: TokenQuery,
  rows: readonly (TokenRowWithCvc | undefined)[],
): ReadableToken[] {
  return rows.flatMap((row) => {
    if (!row) return [];
    const target = { id: row.id, containers: storedPaths(row.containers) };
    const granted = caller.grant.transformFor(permission, target);
    const transform = granted && !mayShow(row) ? "redact" : granted;
    return transform ? [{ row, transform }] : [];
  });
}

export const PAGE_LIMIT: ReadLimit = { maxBytes: MAX_PAGE_BYTES, tooMany: () => pageTooLarge("tokens") };

/** Compares what search terms do not cover: metadata and type of tokens selected by id, and the case of metadata. */
export function recheckFilter({ keys, filter }: TokenQuery, { row }: ReadableToken): boolean {
  if (filter.types && !filter.types.includes(row.type)) return false;
  const pairs = [...filter.exactMetadata, ...(filter.ids ? filter.metadata : [])];
  if (pairs.length === 0) return true;
  // A map, since every object has a `constructor`.
  const metadata = new Map(Object.entries(openToken(keys, row).attributes.metadata ?? {}));
  return (
    filter.exactMetadata.every(([key, value]) => metadata.get(key) === value) &&
    filter.metadata.every(([key, value]) => metadata.get(key)?.toLowerCase() === value.toLowerCase())
  );
}

/**
 * Writes one row for the list, and one for each token whose value it returns.
 * @throws {Denied} without a reason that is asked for.
 */
export async function logListing(
  tx: CallerTransaction,
  { permission }: Pick<TokenQuery, "permission">,
  shown: readonly ReadableToken[],
): Promise<void> {
  if (permission === "token:export") tx.log("token", ANY_ENTITY_ID, "export", `${shown.length} tokens`);
  else tx.log("token", ANY_ENTITY_ID, permission === "token:search" ? "search" : "list");
  const revealed = shown.filter(({ transform }) => transform === "reveal");
  const mightAsk = mightNeedReason(tx.caller, permission);
  for (const { row, transform } of revealed) {
    const entityType = loggedTokenType(tokenType(row.type));
    if (mightAsk) {
      const containers = storedPaths(row.containers);
      requireReason(tx.caller, permission, transform, { id: row.id, containers, entityType });
    }
    tx.log(entityType, row.id, "read", { transform });
  }
  await countMonthlyActivities(
    tx,
    revealed.map(({ row }) => row),
  );
}

/** The same text for the same list with the same rights. */
function listName({ caller, permission, filter }: TokenQuery): string {
  const who = [caller.tenantId, loggedActor(caller).id, caller.session?.id ?? "", String(caller.revision), permission];
  return JSON.stringify([...who, ...filter.name]);
}

/** Compares like the database: ids by bytes, not by UTF-16 units. */
function compareKeys(a: TokenKey, b: TokenKey): number {
  return a.created_at.getTime() - b.created_at.getTime() || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
}
