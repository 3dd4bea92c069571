/** An array in PostgreSQL's text format. Every item is quoted: unquoted, one could read as a NULL or a delimiter. */
export function toArrayText(items: readonly string[]): string {
  return `{${items.map((item) => `"${String(item).replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** A quoted item with its escapes, or one that needs no quotes. */
const ITEM = /"((?:[^"\\]|\\.)*)"|([^{},"]+)/gs;

/** Reads a PostgreSQL array of one dimension without NULLs. */
export function readArrayText(text: string): string[] {
  return Array.from(text.matchAll(ITEM), ([, quoted, plain = ""]) => quoted?.replaceAll(/\\(.)/gs, "$1") ?? plain);
}
