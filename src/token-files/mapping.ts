import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { UnreadableFile } from "./unreadable-file.js";

export interface Mapping {
  /** The field of the token for each column, such as `data.number`. Other columns are left out. */
  readonly columns: ReadonlyMap<string, string>;
  /** The same for every token. */
  readonly values: ReadonlyMap<string, Json>;
}

/** Splits into data.expiration_month and data.expiration_year. No field of tokens has this name. */
const EXPIRATION = "data.expiration";

const FIELDS =
  /^(?:id|type|data|mask|containers|search_indexes|fingerprint_expression|expires_at|deduplicate_token)$|^(?:data|metadata)\..+$/;

/** @throws {UnreadableFile} for what is no mapping. */
export function readMapping(given: unknown): Mapping {
  const { columns, values = {} }: { columns?: unknown; values?: unknown } = Object(given);
  const fields = Object.entries(Object(columns)).map(([column, field]) => [column, requireField(field)] as const);
  if (fields.length === 0)
    throw new UnreadableFile('A mapping must have "columns", such as {"card_number": "data.number"}.');
  const constants: [string, Json][] = Object.entries(Object(values)).map(([field, value]) => [
    requireField(field),
    JSON.parse(JSON.stringify(value)),
  ]);
  return { columns: new Map(fields), values: new Map(constants) };
}

function requireField(field: unknown): string {
  if (typeof field === "string" && FIELDS.test(field)) return field;
  throw new UnreadableFile(`The mapping names a field that tokens do not have: ${JSON.stringify(field)}`);
}

/** Without a mapping: the columns of CSV are named like the fields of tokens. */
const SAME_NAMES: Mapping = { columns: new Map(), values: new Map() };

export function importRow(content: JsonObject, mapping: Mapping | undefined, isCsv: boolean): JsonObject {
  if (!mapping && !isCsv) return content;
  const { columns, values } = mapping ?? SAME_NAMES;
  const row: JsonObject = {};
  // A copy: columns add fields to it, and a batch of rows is kept.
  for (const [field, value] of values) put(row, field, structuredClone(value));
  for (const [column, value] of Object.entries(content)) {
    const field = mapping ? (columns.get(column) ?? columns.get(column.toLowerCase())) : column;
    if (field !== undefined && value !== "") putRead(row, field, value);
  }
  if (mapping && !isCsv) putNested(row, content, mapping);
  return row;
}

/** `card.number` names a field of an object in a record, `aliases.0.alias` one of a list, where no field has that whole name. */
function putNested(row: JsonObject, content: JsonObject, { columns }: Mapping): void {
  for (const [column, field] of columns) {
    if (!column.includes(".") || Object.hasOwn(content, column)) continue;
    const steps = column.split(".");
    const value = steps.reduce<Json | undefined>(partOf, content);
    if (value !== undefined) putRead(row, field, value);
  }
}

function partOf(from: Json | undefined, step: string): Json | undefined {
  if (Array.isArray(from)) return /^\d+$/.test(step) ? from[Number(step)] : undefined;
  return isJsonObject(from) && Object.hasOwn(from, step) ? from[step] : undefined;
}

function putRead(row: JsonObject, field: string, value: Json): void {
  const expiry = field === EXPIRATION ? /^(\d{1,2})[/-]?(\d{4}|\d{2})$/.exec(String(value)) : null;
  if (expiry) {
    putRead(row, "data.expiration_month", expiry[1] ?? "");
    putRead(row, "data.expiration_year", expiry[2] ?? "");
  } else put(row, field, typeof value === "string" ? readCell(field, value) : value);
}

/** Puts a value at `data.number`. What lies in the way of an object is replaced. A file may name a column `__proto__.x`. */
function put(row: JsonObject, field: string, value: Json): void {
  const end = field.indexOf(".");
  const [name, below] = end < 0 ? [field, undefined] : [field.slice(0, end), field.slice(end + 1)];
  if (below === undefined) {
    setOwnProperty(row, name, value);
    return;
  }
  const found = Object.hasOwn(row, name) ? row[name] : undefined;
  const parent: JsonObject = isJsonObject(found) ? found : {};
  setOwnProperty(parent, below, value);
  setOwnProperty(row, name, parent);
}

/** A text as the field has it: numbers, lists and JSON are written as texts in CSV. */
function readCell(field: string, text: string): Json {
  switch (field) {
    case "data.expiration_month":
      return /^\d{1,2}$/.test(text) ? Number(text) : text;
    case "data.expiration_year":
      return /^\d{2}$/.test(text) ? 2_000 + Number(text) : /^\d{4}$/.test(text) ? Number(text) : text;
    case "data.number":
      return text.replaceAll(/[ -]/g, "");
    case "deduplicate_token":
      return text === "true" ? true : text === "false" ? false : text;
    case "containers":
      return text.startsWith("[") ? jsonOr(text) : text.split(/\s+/).filter((path) => path !== "");
    case "data":
    case "mask":
    case "metadata":
    case "search_indexes":
      return /^[[{"]/.test(text) ? jsonOr(text) : text;
    default:
      return text;
  }
}

function jsonOr(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
