import { LRUCache } from "lru-cache";
import { isTexts } from "../../base/json.js";
import { readArrayText, toArrayText } from "../wire/array-text.js";
import type { Columns } from "../wire/columns.js";
import type { DescribedColumn } from "../wire/described-column.js";
import type { MessageWriter } from "../wire/message-writer.js";
import { PreparedStatement } from "../wire/prepared-statement.js";
import type { Execution } from "../wire/step.js";

/**
 * Statements that template strings put together for each call. Aggregates off the hot path still use them. Values
 * travel as text with guessed types.
 */

class Typed {
  readonly type: number;
  readonly text: string;

  constructor(type: number, text: string) {
    this.type = type;
    this.text = text;
  }
}

/** Rows to insert, columns to set, or names. The text before it decides which. */
class Listed {
  readonly of: string | readonly string[] | object | readonly object[];

  constructor(of: Listed["of"]) {
    this.of = of;
  }
}

type Scalar = string | number | boolean | Date | Uint8Array | null | Typed;
type Value = Scalar | readonly string[] | object;

export class SqlText<out Row = never> {
  readonly parts: readonly (string | { readonly value: Scalar })[];
  /** The type of its rows, which nothing checks. */
  declare readonly row?: Row;

  constructor(parts: SqlText["parts"]) {
    this.parts = parts;
  }
}

export interface SqlTag {
  <Row = never>(strings: TemplateStringsArray, ...values: readonly (Value | SqlText<unknown>)[]): SqlText<Row>;
  (name: string): Listed;
  (names: readonly string[]): Listed;
  (row: object): Listed;
  json(value: unknown): Typed;
  typed(text: string, type: number): Typed;
  /** A text of our own, with its parameters as $1, $2 ... */
  unsafe<Row = never>(text: string, values?: readonly Scalar[]): SqlText<Row>;
}

const JSONB = 3802;

function tag<Row = never>(
  strings: TemplateStringsArray,
  ...values: readonly (Value | SqlText<unknown>)[]
): SqlText<Row>;
function tag(of: Listed["of"]): Listed;
function tag(first: TemplateStringsArray | Listed["of"], ...values: readonly (Value | SqlText<unknown>)[]): unknown {
  return isTemplate(first) ? new SqlText<never>(tagged(first, values)) : new Listed(first);
}

export const sqlTag: SqlTag = Object.assign(tag, {
  json: (value: unknown) => new Typed(JSONB, JSON.stringify(value)),
  typed: (text: string, type: number) => new Typed(type, text),
  unsafe: (text: string, values: readonly Scalar[] = []) => new SqlText<never>(numbered(text, values)),
});

function isTemplate(first: unknown): first is TemplateStringsArray {
  return Array.isArray(first) && "raw" in first;
}

function tagged(strings: TemplateStringsArray, values: readonly (Value | SqlText<unknown>)[]): SqlText["parts"] {
  const parts: SqlText["parts"][number][] = [strings[0] ?? ""];
  for (const [index, value] of values.entries()) {
    if (value instanceof SqlText) parts.push(...value.parts);
    else if (isTexts(value)) parts.push({ value: toArrayText(value) });
    else if (Array.isArray(value)) parts.push(...value.flatMap((fragment) => [" ", ...fragmentParts(fragment)]));
    else if (value instanceof Listed) parts.push(...listed(value, strings[index] ?? ""));
    else parts.push({ value: scalarOf(value) });
    parts.push(strings[index + 1] ?? "");
  }
  return parts;
}

/**
 * Takes a fragment, or several that follow each other.
 * @throws {TypeError}
 */
function fragmentParts(fragment: unknown): SqlText["parts"] {
  if (!(fragment instanceof SqlText)) throw new TypeError("a list is neither of texts nor of fragments");
  return fragment.parts;
}

function listed({ of }: Listed, before: string): SqlText["parts"] {
  if (typeof of === "string") return [quoteName(of)];
  if (isTexts(of)) return [of.map(quoteName).join(", ")];
  const rows: readonly object[] = Array.isArray(of) ? of : [of];
  const names = Object.keys(rows[0] ?? {});
  if (/\bset\s*$/i.test(before)) {
    return names.flatMap((name, index) => [
      `${index > 0 ? ", " : ""}${quoteName(name)} = `,
      { value: scalarOf(Reflect.get(rows[0] ?? {}, name)) },
    ]);
  }
  const parts: SqlText["parts"][number][] = [`(${names.map(quoteName).join(", ")}) values `];
  for (const [index, row] of rows.entries()) {
    for (const [column, name] of names.entries()) {
      parts.push(column > 0 ? ", " : index > 0 ? ", (" : "(", { value: scalarOf(Reflect.get(row, name)) });
    }
    parts.push(")");
  }
  return parts;
}

/** A name, quoted for SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** @throws {TypeError} for a value that is missing. */
function scalarOf(value: unknown): Scalar {
  if (value === null || value instanceof Typed || value instanceof Date || value instanceof Uint8Array) return value;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  if (isTexts(value)) return toArrayText(value);
  if (typeof value === "object") return JSON.stringify(value);
  throw new TypeError("a statement was given no value");
}

function numbered(text: string, values: readonly Scalar[]): SqlText["parts"] {
  return text
    .split(/\$(\d+)/)
    .map((part, index) => (index % 2 === 0 ? part : { value: values[Number(part) - 1] ?? null }));
}

/** Parsed texts, whose names need not be computed again. */
const known = new LRUCache<string, PreparedStatement>({ max: 2_000 });

/** A run of a text statement. Rows are objects keyed by column name. */
export class TextExecution<Row> implements Execution {
  readonly statement: PreparedStatement;
  readonly rows: Row[] = [];
  readonly #values: readonly Scalar[];

  constructor({ parts }: SqlText<Row>) {
    const values: Scalar[] = [];
    let text = "";
    for (const part of parts) {
      if (typeof part === "string") text += part;
      else text += `$${values.push(part.value)}`;
    }
    this.#values = values;
    const types = values.map(typeOf);
    const key = `${types.join()} ${text}`;
    const parameters = () => types.map((type) => ({ type, format: type === BYTEA ? 1 : 0 }) as const);
    this.statement = known.get(key) ?? new PreparedStatement(text, parameters());
    known.set(key, this.statement);
  }

  writeValues(out: MessageWriter): void {
    for (const value of this.#values) {
      if (value === null) out.nullValue();
      else if (value instanceof Uint8Array) out.bytesValue(value);
      else out.textValue(valueText(value));
    }
  }

  takeRow(columns: Columns, described: readonly DescribedColumn[]): void {
    const row: Row = Object.create(Object.prototype);
    for (const { name, type } of described) {
      const text = columns.textOrNull();
      Object.assign(row ?? {}, { [name]: text === null ? null : parsed(type, text) });
    }
    this.rows.push(row);
  }
}

const BYTEA = 17;

function typeOf(value: Scalar): number {
  if (value instanceof Typed) return value.type;
  if (value instanceof Date) return 1184;
  if (value instanceof Uint8Array) return BYTEA;
  return typeof value === "boolean" ? 16 : 0;
}

function valueText(value: Exclude<Scalar, null | Uint8Array>): string {
  if (value instanceof Typed) return value.text;
  // PostgreSQL rejects the text that replaces an invalid time.
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "no time" : value.toISOString();
  return String(value);
}

function parsed(type: number, text: string): unknown {
  switch (type) {
    case 16:
      return text === "t";
    case BYTEA:
      return Buffer.from(text.slice(2), "hex");
    case 20:
      return safeInteger(text);
    case 21:
    case 23:
    case 26:
    case 700:
    case 701:
      return Number(text);
    case 114:
    case JSONB:
      return JSON.parse(text);
    case 1082:
    case 1114:
    case 1184:
      return new Date(text);
    case 1003:
    case 1009:
    case 1182:
    case 2951:
      return readArrayText(text);
    default:
      return text;
  }
}

/** bigint columns hold counts and revisions, which stay below 2^53. */
function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error("a bigint column holds more than 2^53");
  return value;
}
