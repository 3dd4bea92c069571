/** An array as PostgreSQL takes it in text. Every item is quoted, so that none is taken for a NULL or a delimiter. */
export function toArrayText(items: readonly string[]): string {
  return `{${items.map((item) => `"${String(item).replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** A quoted item with its escapes, or one that needs no quotes. */
const ITEM = /"((?:[^"\\]|\\.)*)"|([^{},"]+)/gs;

/** Reads the array of one dimension, without NULLs, that PostgreSQL gives. */
export function readArrayText(text: string): string[] {
  return Array.from(text.matchAll(ITEM), ([, quoted, plain = ""]) => quoted?.replaceAll(/\\(.)/gs, "$1") ?? plain);
}
