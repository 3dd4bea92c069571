import type { SqlTag } from "./statement.js";

/** bytea[] (type 1001) as its text form: the client would take an array of buffers for one bytea. */
export function byteaArray(sql: SqlTag, values: readonly Uint8Array[]) {
  const items = values.map((value) => `"\\\\x${Buffer.from(value).toString("hex")}"`);
  return sql.typed(`{${items.join(",")}}`, 1001);
}

/** A name search as a `like` pattern: `*` stands for any text, and a name without one is searched for anywhere. */
export function likePattern(name: string): string {
  const escaped = name.replaceAll(/[\\%_]/g, (char) => `\\${char}`);
  return name.includes("*") ? escaped.replaceAll("*", "%") : `%${escaped}%`;
}
