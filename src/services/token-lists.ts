import {
  type ListTokensResponseSchema,
  type TokenCursorPageSchema,
  TokenService,
} from "../../gen/cloakroom/v1/tokens_pb.js";
import { takeTurn } from "../base/caller-turns.js";
import { DEFAULT_PAGE_SIZE, type PageRequest } from "../base/page.js";
import { yieldToEventLoop } from "../base/yield-to-event-loop.js";
import { SharedBudget } from "../expressions/shared-budget.js";
import { prepareCursorPage, requireContainerInScope, type TokenCursorPage } from "../tokens/cursor-list.js";
import { requireMaySearchData } from "../tokens/data-search.js";
import { prepareExporter } from "../tokens/export.js";
import { ListMemory } from "../tokens/list-memory.js";
import { listTokens } from "../tokens/offset-list.js";
import { openReadable, opensAtOnce, type ReadableToken, showReadable } from "../tokens/read.js";
import type { TokenQuery } from "../tokens/selection.js";
import {
  type CursorFilterFields,
  cursorFilter,
  cursorSearchFields,
  listFilter,
  searchFilter,
} from "../tokens/token-filter.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { type Call, type ServedMethod, serve } from "./call.js";
import { pageRequest, showPage } from "./show.js";
import { showToken } from "./show-token.js";

/** Tokens on a page of an export. */
const EXPORTED = 100;

/** Lists and searches: the part of TokenService that reads many tokens. */
export function tokenLists(bins: BinTable | undefined): ServedMethod[] {
  const { method } = TokenService;
  const shared = { memory: new ListMemory(), bins };
  return [
    serve(method.listTokens, async (request, call) => {
      const filter = listFilter(call.keys, request);
      return listPage(
        call,
        { caller: call.caller, keys: call.keys, permission: "token:read", filter },
        pageRequest(request),
        shared,
      );
    }),
    serve(method.searchTokens, async (request, call) => {
      requireMaySearchData(call.caller, request.query ?? "");
      const filter = searchFilter(call.keys, request.query ?? "");
      return listPage(
        call,
        { caller: call.caller, keys: call.keys, permission: "token:search", filter },
        pageRequest(request),
        shared,
      );
    }),
    serve(method.listTokensByCursor, async (request, call) => {
      const { container, type, fingerprint, metadata } = request;
      const fields = { container, type, fingerprint, metadata, data: undefined };
      const query: TokenQuery = {
        caller: call.caller,
        keys: call.keys,
        permission: "token:read",
        filter: cursorFilter(call.keys, fields),
      };
      return listByCursor(call, query, { ...request, container }, bins);
    }),
    serve(method.exportTokenPage, async ({ start, size = EXPORTED, ...fields }, call) => {
      const { query, page } = prepareExporter(call.caller, call.keys, fields, call.signal);
      return call.list(page(start, size), showCursorPage(query, size, bins));
    }),
    serve(method.searchTokensByCursor, async (request, call) => {
      requireMaySearchData(call.caller, request.query ?? "");
      const fields = cursorSearchFields(request.query ?? "");
      const filter = cursorFilter(call.keys, fields, "query");
      const query: TokenQuery = { caller: call.caller, keys: call.keys, permission: "token:search", filter };
      return listByCursor(call, query, { ...request, container: fields.container }, bins);
    }),
  ];
}

function listPage(
  call: Call<typeof ListTokensResponseSchema>,
  query: TokenQuery,
  page: PageRequest,
  { memory, bins }: { readonly memory: ListMemory; readonly bins: BinTable | undefined },
) {
  return call.list(
    (tx) => listTokens(tx, { ...query, signal: call.signal }, page, memory),
    async (found) => ({
      pagination: showPage(found, page),
      data: await showAll(query, found.items, bins),
    }),
  );
}

interface CursorPageRequest extends Pick<CursorFilterFields, "container"> {
  readonly start?: string | undefined;
  readonly size?: number | undefined;
}

function listByCursor(
  call: Call<typeof TokenCursorPageSchema>,
  query: TokenQuery,
  { container, start, size = DEFAULT_PAGE_SIZE }: CursorPageRequest,
  bins: BinTable | undefined,
) {
  const readPage = prepareCursorPage({ ...query, signal: call.signal }, start, size);
  return call.list(
    async (tx) => {
      if (container !== undefined) requireContainerInScope(query, container);
      return readPage(tx);
    },
    showCursorPage(query, size, bins),
  );
}

function showCursorPage(query: TokenQuery, size: number, bins: BinTable | undefined) {
  return async ({ items, next }: TokenCursorPage) => ({
    pagination: { pageSize: size, ...(next === undefined ? {} : { after: next, next }) },
    data: await showAll(query, items, bins),
  });
}

/** In as many turns of the caller as it needs. */
export async function showAll(
  { caller, keys }: TokenQuery,
  items: readonly ReadableToken[],
  bins: BinTable | undefined,
) {
  const showing = { budget: new SharedBudget(), bins };
  const openLong = async (item: ReadableToken) => {
    const view = await openReadable(caller, keys, item, showing);
    await yieldToEventLoop(item.row.data.length);
    return view;
  };
  const shown: ReturnType<typeof showToken>[] = [];
  for (const item of items) {
    const turn = takeTurn();
    if (turn) await turn;
    shown.push(showToken(opensAtOnce(item) ? showReadable(caller, keys, item, showing) : await openLong(item)));
  }
  return shown;
}
