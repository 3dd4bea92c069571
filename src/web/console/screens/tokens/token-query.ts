/** Fields of `docs/search.md`, as a term begins with one. */
const FIELD =
  /(?:^|[\s(!-])(?:(?:id|type|data|fingerprint|container|created_by|modified_by|created_at|modified_at):|metadata\.[^:]+:)/;
/** A term that lists by cursor, which costs the same on every page. */
const CURSOR_TERM = /^(?:type|data|fingerprint|metadata\.[^:]+):/;
/** What joins terms, outside of quotation marks. */
const JOINS = /\b(?:AND|OR|NOT)\b|[()!]|(?:^|\s)-/;

/** Whether a person typed a query of one or more terms, such as `type:card AND data:x`. Anything else is an id. */
export function isQuery(text: string): boolean {
  return FIELD.test(withoutQuoted(text).trim());
}

export interface TokenSearch {
  /** Undefined for all tokens. */
  readonly query: string | undefined;
  /** Whether pages are found by cursor, as of a single term; joined terms have numbered pages. */
  readonly isByCursor: boolean;
}

export function readSearch(query: string, container: string): TokenSearch {
  const [term, path] = [query.trim(), container.trim()];
  const isByCursor = term === "" || (CURSOR_TERM.test(term) && !JOINS.test(withoutQuoted(term)));
  const terms = [
    ...(term === "" ? [] : [isByCursor || path === "" ? term : `(${term})`]),
    ...(path === "" ? [] : [`container:${containerPattern(path)}`]),
  ];
  return { query: terms.length === 0 ? undefined : terms.join(" AND "), isByCursor };
}

function withoutQuoted(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
}

/** A container with everything below it, spelled as containers are. */
function containerPattern(path: string): string {
  return `${path.startsWith("/") ? "" : "/"}${path}${path.endsWith("/") ? "" : "/"}*`;
}
