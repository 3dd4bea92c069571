/** Whether a person typed a term such as `type:card`. Anything else is an id. */
export function isTerm(text: string): boolean {
  return /^(?:type|data|fingerprint|metadata\.[^:]+):/.test(text.trim());
}

/** A term and a container as a query of `POST /v2/tokens/search`; undefined for all tokens. */
export function queryOf(term: string, container: string): string | undefined {
  const terms = [
    ...(term.trim() === "" ? [] : [term.trim()]),
    ...(container.trim() === "" ? [] : [`container:${containerPattern(container.trim())}`]),
  ];
  return terms.length === 0 ? undefined : terms.join(" AND ");
}

/** A container with everything below it, spelled as containers are. */
function containerPattern(path: string): string {
  return `${path.startsWith("/") ? "" : "/"}${path}${path.endsWith("/") ? "" : "/"}*`;
}
