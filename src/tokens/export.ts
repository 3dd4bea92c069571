import type { Caller } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { parseContainer } from "../access/container.js";
import { invalid } from "../base/fault.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { prepareCursorPage, requireContainerInScope, type TokenCursorPage } from "./cursor-list.js";
import { requireApproval } from "./export-approval.js";
import type { TokenQuery } from "./selection.js";
import { cursorFilter, cursorSearchFields } from "./token-filter.js";

/** Which tokens a caller takes elsewhere. */
export interface ExportFields {
  readonly container?: string | undefined;
  readonly type?: string | undefined;
  /** In place of container and type. */
  readonly query?: string | undefined;
  readonly withoutData?: boolean | undefined;
}

/** An export, page by page. */
export interface TokenExporter {
  readonly query: TokenQuery;
  /** @throws {Fault} validation_failed naming `start`. */
  page(start: string | undefined, size: number): (tx: CallerTransaction) => Promise<TokenCursorPage>;
}

/** @throws {Fault} validation_failed naming a field. */
export function exporterOf(caller: Caller, keys: TenantKeys, fields: ExportFields): TokenExporter {
  const { query: text, withoutData: isWithoutData = false } = fields;
  if (text !== undefined && (fields.container !== undefined || fields.type !== undefined)) {
    throw invalid("query", "must stand without container and type: name them in the query");
  }
  const { container, type } = fields;
  const plain = { container, type, fingerprint: undefined, data: undefined, metadata: {} };
  const named = text === undefined ? plain : cursorSearchFields(text);
  const filter = cursorFilter(keys, named, text === undefined ? undefined : "query");
  const query: TokenQuery = { caller, keys, permission: "token:export", filter, isWithoutData };
  return {
    query,
    page(start, size) {
      const readPage = prepareCursorPage(query, start, size);
      return async (tx) => {
        if (named.container !== undefined) requireContainerInScope(query, named.container);
        if (!isWithoutData) await requireApproval(tx, scopeOf(named));
        return readPage(tx);
      };
    },
  };
}

function scopeOf({ container, type }: Pick<ExportFields, "container" | "type">) {
  const path = container?.endsWith("/*") ? container.slice(0, -1) : container;
  return { container: path === undefined ? undefined : parseContainer(path, "container"), type };
}
