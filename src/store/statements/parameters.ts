import type { SqlTag } from "./statement.js";

/** bytea[] (type 1001) in its text form, because the client would send an array of buffers as one bytea. */
export function byteaArray(sql: SqlTag, values: readonly Uint8Array[]) {
  const items = values.map((value) => `"\\\\x${Buffer.from(value).toString("hex")}"`);
  return sql.typed(`{${items.join(",")}}`, 1001);
}
