import type { TenantTransaction } from "../audit/tenant-transaction.js";
import type { Uuid } from "../base/ids.js";
import { MAX_PAGE_BYTES, type PageRequest, pageOffset } from "../base/page.js";
import { openName } from "../crypto/sealed-name.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { SizedPage } from "../store/statements/counted-page.js";
import { NAMES_PER_BATCH, type NamedRow, type NamesStatement } from "../store/statements/named-listing.js";
import type { Statement } from "../store/statements/statement.js";

export interface NameSearch extends PageRequest {
  readonly ids?: readonly Uuid[];
  /** Limits the search to applications of these types, if present and not empty. */
  readonly types?: readonly string[];
  /** Case-insensitive; `*` matches any text. A name without it matches anywhere. */
  readonly name: string;
  /** Sorted by name, A to Z. Absent: newest first. */
  readonly isByName?: boolean;
}

export interface NamedKind<Row> {
  readonly names: NamesStatement;
  readonly read: Statement<Uuid, Row | null>;
}

/**
 * A page of entities whose names match. The database cannot search names because they are sealed. Reads
 * nothing of a page that is too large.
 */
export async function listByName<Row>(
  tx: TenantTransaction,
  { names, read }: NamedKind<Row>,
  search: NameSearch,
): Promise<SizedPage<Row>> {
  const isWanted = nameMatcher(search.name);
  const found: (NamedRow & { readonly shown: string })[] = [];
  let after: NamedRow | undefined;
  do {
    const rows: readonly NamedRow[] = await tx.query(names, { ids: search.ids ?? [], types: search.types, after });
    for (const row of rows) {
      const shown = openedName(tx.keys, row);
      if (isWanted(shown)) found.push({ ...row, shown });
    }
    after = rows.length < NAMES_PER_BATCH ? undefined : rows.at(-1);
  } while (after);
  if (search.isByName) found.sort((one, other) => BY_NAME.compare(one.shown, other.shown));
  const first = pageOffset(search);
  const page = found.slice(first, first + search.size);
  const bytes = page.length > 1 ? page.reduce((sum, row) => sum + row.bytes, 0) : 0;
  const rows = await Promise.all(bytes > MAX_PAGE_BYTES ? [] : page.map(({ id }) => tx.query(read, id)));
  // Leaves out entities deleted since their names were read.
  return { items: rows.filter((row) => row !== null), total: found.length, bytes };
}

const BY_NAME = new Intl.Collator("en", { numeric: true });

function openedName(keys: TenantKeys, { id, name, official_name }: NamedRow): string {
  return name ? openName(keys, id, name) : (official_name ?? "");
}

/** Examines each name once from start to end, however many asterisks the pattern has. */
export function nameMatcher(pattern: string): (name: string) => boolean {
  const [first = "", ...rest] = pattern.toLowerCase().split("*");
  const last = rest.pop();
  if (last === undefined) return (name) => name.toLowerCase().includes(first);
  return (name) => {
    const text = name.toLowerCase();
    if (!text.startsWith(first)) return false;
    let from = first.length;
    for (const part of rest) {
      const at = text.indexOf(part, from);
      if (at < 0) return false;
      from = at + part.length;
    }
    return text.length - last.length >= from && text.endsWith(last);
  };
}
