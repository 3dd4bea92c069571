import type { CallerTransaction } from "../access/caller-transaction.js";
import { covers, parseContainer } from "../access/container.js";
import { denied } from "../access/refusal.js";
import { invalid } from "../base/fault.js";
import { readCursor, writeCursor } from "../crypto/cursor.js";
import type { TokenKey } from "../store/tokens/token-selection.js";
import { logListing, PAGE_LIMIT, recheckFilter, visibleTokens } from "./offset-list.js";
import type { ReadableToken } from "./read.js";
import { type ReadLimit, readTokenRows } from "./read-rows.js";
import { findNewestKeys } from "./selected-keys.js";
import { selectTokens, type TokenQuery } from "./selection.js";

export interface TokenCursorPage {
  readonly items: readonly ReadableToken[];
  /** Absent on the last page. */
  readonly next: string | undefined;
  /** The cursor of the list after one of its tokens. */
  after(item: ReadableToken): string;
}

/**
 * Prepares a page by cursor, newest first. A page may be short or empty although more tokens follow: the index ignores
 * the case of metadata, which is compared afterwards, an export ends a page before too many bytes, and a list that
 * compares many tokens ends one after a time.
 * @throws {Fault} validation_failed naming `start`.
 */
export function prepareCursorPage(query: TokenQuery, start: string | undefined, size: number) {
  const { keys, filter, permission } = query;
  const scope = [permission, ...filter.name];
  const position = start === undefined || start === "" ? undefined : readCursor(keys.proof, scope, start);
  if (start && !position)
    throw invalid("start", "must be a cursor of the page before, from a list with the same filter");
  const after = position && { created_at: position.createdAt, id: position.id };

  return async (tx: CallerTransaction): Promise<TokenCursorPage> => {
    const selection = await selectTokens(tx, query);
    // One extra row shows whether another page follows.
    const walk = { selection, after, limit: size + 1 };
    const { keys: found, reached } = await findNewestKeys(tx, walk, { signal: query.signal });
    const ids = found.slice(0, size).map(({ id }) => id);
    const rows = await readTokenRows(tx, ids, permission === "token:export" ? CUT_LIMIT : PAGE_LIMIT);
    const items = visibleTokens(query, rows).filter((token) => recheckFilter(query, token));
    await logListing(tx, query, items);
    const last = found.length > rows.length ? found[rows.length - 1] : reached;
    const cursorAfter = (key: TokenKey) => writeCursor(keys.proof, scope, { createdAt: key.created_at, id: key.id });
    return { items, next: last && cursorAfter(last), after: ({ row }) => cursorAfter(row) };
  };
}

const CUT_LIMIT: ReadLimit = { ...PAGE_LIMIT, isCut: true };

/**
 * Denies a request for a named container that no rule of the caller covers, instead of showing it empty.
 * @throws {Denied}.
 */
export function requireContainerInScope({ caller, permission }: TokenQuery, container: string): void {
  const path = parseContainer(container.endsWith("/*") ? container.slice(0, -1) : container, "container");
  const touches = caller.grant.layers.every(
    (layer) =>
      layer.permissions.includes(permission) ||
      layer.rules.some(
        ({ permissions, scope }) =>
          permissions.includes(permission) &&
          (scope.kind === "conditions" || covers(scope.container, path) || covers(path, scope.container)),
      ),
  );
  if (!touches) throw denied(caller, permission, "token", path);
}
