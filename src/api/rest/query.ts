import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { isJsonObject, type Json, setOwnProperty } from "../../base/json.js";

export type Report = (name: string, text: string) => void;

export type QueryReader = (query: string, into: Record<string, unknown>, report: Report) => void;

export type UnknownParameters = "reported" | "ignored";

/**
 * Built once per method. Lists are repeated (`id=a&id=b`), and no other parameter. Maps have three forms:
 * `metadata.key=value`, `metadata[key]=value`, and one JSON object, `metadata={"key":"value"}`.
 */
export function compileQueryReader(
  desc: DescMessage,
  bound: readonly string[],
  unknown: UnknownParameters = "ignored",
): QueryReader {
  const fields = new Map(desc.fields.filter(({ name }) => !bound.includes(name)).map((field) => [field.name, field]));
  const expected = fields.size === 0 ? "this path takes no parameters" : `known are ${[...fields.keys()].join(", ")}`;
  return (query, into, report) => {
    if (query === "") return;
    const seen = new Set<string>();
    const maps = new Map<string, Record<string, unknown>>();
    for (const [name, text] of new URLSearchParams(query)) {
      const field = fields.get(name) ?? mapFieldOf(fields, name);
      if (!field) {
        if (unknown === "reported") report(name, `is not a parameter here: ${expected}`);
        continue;
      }
      if (field.fieldKind === "map") {
        const map = maps.get(field.name) ?? {};
        maps.set(field.name, map);
        // Of repeated keys the first counts.
        for (const [key, value] of mapEntries(field, name, text, report)) {
          if (!Object.hasOwn(map, key)) setOwnProperty(map, key, value);
        }
        into[field.localName] = map;
      } else if (field.fieldKind === "list") {
        const list = into[field.localName];
        if (Array.isArray(list)) list.push(readScalar(field, name, text, report));
      } else if (seen.has(name)) {
        report(name, "must be given once");
      } else {
        seen.add(name);
        into[field.localName] = readScalar(field, name, text, report);
      }
    }
  };
}

function mapFieldOf(fields: ReadonlyMap<string, DescField>, name: string): DescField | undefined {
  const end = name.search(/[.[]/);
  const field = end > 0 ? fields.get(name.slice(0, end)) : undefined;
  return field?.fieldKind === "map" ? field : undefined;
}

function mapEntries(field: DescField, name: string, text: string, report: Report): (readonly [string, string])[] {
  if (name.length > field.name.length) {
    const rest = name.slice(field.name.length);
    const key = rest.startsWith(".") ? rest.slice(1) : /^\[(.+)\]$/.exec(rest)?.[1];
    if (key) return [[key, text]];
    report(name, `must be spelled ${field.name}.key or ${field.name}[key]`);
    return [];
  }
  const object = parseObject(text);
  const pairs =
    object &&
    Object.entries(object).flatMap(([key, value]) => (typeof value === "string" ? [[key, value] as const] : []));
  if (pairs && object && pairs.length === Object.keys(object).length) return pairs;
  report(name, `must be a JSON object of strings, or be spelled ${field.name}.key=value`);
  return [];
}

function parseObject(text: string) {
  try {
    const parsed: Json = JSON.parse(text);
    return isJsonObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function readScalar(field: DescField, name: string, text: string, report: Report): unknown {
  switch (field.scalar) {
    case ScalarType.STRING:
      return text;
    case ScalarType.INT32:
      if (/^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) < 2 ** 31) return Number(text);
      report(name, /^-?\d+$/.test(text) ? "must be from -2147483647 to 2147483647" : "must be a whole number");
      return 0;
    case ScalarType.BOOL:
      if (text === "true" || text === "false") return text === "true";
      report(name, "must be true or false");
      return false;
    default:
      throw new Error(`REST cannot read ${field.toString()} from a query`);
  }
}
