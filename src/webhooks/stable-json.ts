import type { Json } from "../base/json.js";

/** JSON without spaces, with the names of objects sorted: the text that the interface's signature covers. */
export function stableJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(stableJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${stableJson(value[name] ?? null)}`);
  return `{${members.join(",")}}`;
}
