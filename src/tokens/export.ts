import type { Caller } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { parseContainer } from "../access/container.js";
import { invalid } from "../base/fault.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { requireApproval } from "./approved-export.js";
import { prepareCursorPage, requireContainerInScope, type TokenCursorPage } from "./cursor-list.js";
import type { TokenQuery } from "./selection.js";
import { type CursorFilterFields, cursorFilter, cursorSearchFields } from "./token-filter.js";

/** Which tokens a caller takes elsewhere. */
export interface ExportFields {
  readonly container?: string | undefined;
  readonly type?: string | undefined;
  /** In place of container and type. */
  readonly query?: string | undefined;
  readonly withoutData?: boolean | undefined;
}

export interface TokenExporter {
  readonly query: TokenQuery;
  /** @throws {Fault} validation_failed naming `start`. */
  page(start: string | undefined, size: number): (tx: CallerTransaction) => Promise<TokenCursorPage>;
}

/**
 * @param signal of the request: a page that is not waited for any more ends.
 * @throws {Fault} validation_failed naming a field.
 */
export function prepareExporter(
  caller: Caller,
  keys: TenantKeys,
  fields: ExportFields,
  signal: AbortSignal,
): TokenExporter {
  const { query: text, withoutData: isWithoutData = false } = fields;
  if (text !== undefined && (fields.container !== undefined || fields.type !== undefined)) {
    throw invalid("query", "must stand without container and type: name them in the query");
  }
  const { container, type } = fields;
  const plain = { container, type, fingerprint: undefined, data: undefined, metadata: {} };
  const named = text === undefined ? plain : exportSearchFields(text);
  const filter = cursorFilter(keys, named, text === undefined ? undefined : "query");
  const query: TokenQuery = { caller, keys, permission: "token:export", filter, signal };
  return {
    query,
    page(start, size) {
      return async (tx) => {
        if (named.container !== undefined) requireContainerInScope(query, named.container);
        const mayShow = isWithoutData ? () => false : await requireApproval(tx, scopeOf(named));
        return prepareCursorPage({ ...query, mayShow }, start, size)(tx);
      };
    },
  };
}

/** A query that names a value learns whether it is stored: that needs the right to search, and its limit of requests. */
function exportSearchFields(text: string): CursorFilterFields {
  const fields = cursorSearchFields(text);
  if (fields.data === undefined && fields.fingerprint === undefined) return fields;
  throw invalid(
    "query",
    "must search in container, type or metadata: data and fingerprint are for POST /v2/tokens/search",
  );
}

function scopeOf({ container, type }: Pick<ExportFields, "container" | "type">) {
  const path = container?.endsWith("/*") ? container.slice(0, -1) : container;
  return { container: path === undefined ? undefined : parseContainer(path, "container"), type };
}
