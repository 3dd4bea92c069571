import { Buffer } from "node:buffer";

/** Limits of the output. Node's own figures, except for properties, of which Node shows all. */
const DEPTH = 2;
const MAX_ITEMS = 100;
const MAX_TEXT = 10_000;
const LINE = 72;

/** Formats a value much like Node's util.inspect. Its cost is bounded for any value. */
export function inspect(value: unknown, options?: unknown): string {
  const { depth } = Object(options);
  return new Inspection(typeof depth === "number" ? Math.min(depth, 20) : depth === null ? 20 : DEPTH).show(value, 0);
}

/** Joins values by spaces; the first may have placeholders for others: %s, %d, %i, %f, %j, %o, %O. */
export function format(...values: readonly unknown[]): string {
  const [first, ...rest] = values;
  if (typeof first !== "string") return values.map(plain).join(" ");
  const text = first.replace(/%[sdifjoOc%]/g, (place) => {
    if (place === "%%") return rest.length > 0 || values.length > 1 ? "%" : place;
    return rest.length === 0 ? place : filled(place, rest.shift());
  });
  return [text, ...rest.map(plain)].join(" ");
}

function filled(place: string, value: unknown): string {
  switch (place) {
    case "%d":
      return typeof value === "bigint" ? `${value}n` : String(Number(value));
    case "%i":
      return String(Number.parseInt(String(value), 10));
    case "%f":
      return String(Number.parseFloat(String(value)));
    case "%j":
      return jsonText(value);
    case "%c":
      return "";
    case "%s":
      return typeof value === "object" && value !== null ? inspect(value, { depth: 0 }) : plain(value);
    default:
      return inspect(value, { depth: 4 });
  }
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "undefined";
  } catch {
    return "[Circular]";
  }
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : inspect(value);
}

class Inspection {
  readonly #depth: number;
  readonly #open: unknown[] = [];
  /** Number of values that may still be shown. */
  #left = 2_000;

  constructor(depth: number) {
    this.#depth = depth;
  }

  show(value: unknown, level: number): string {
    switch (typeof value) {
      case "string":
        return quoted(value);
      case "bigint":
        return `${value}n`;
      case "number":
        return Object.is(value, -0) ? "-0" : String(value);
      case "function":
        return describeFunction(value);
      case "object":
        return value === null ? "null" : this.#object(value, level);
      default:
        return String(value);
    }
  }

  #object(value: object, level: number): string {
    if (this.#open.includes(value)) return "[Circular *1]";
    const leaf = describeLeaf(value, level);
    if (leaf !== undefined) return leaf;
    if (level > this.#depth) return `[${className(value) ?? "Object: null prototype"}]`;
    this.#open.push(value);
    const parts = this.#parts(value, level);
    this.#open.pop();
    const [start, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
    const label = classLabel(value);
    if (parts.length === 0) return `${label}${start}${end}`;
    const line = parts.join(", ");
    if (line.length + level * 2 <= LINE && !line.includes("\n")) return `${label}${start} ${line} ${end}`;
    const indent = "  ".repeat(level + 1);
    return `${label}${start}\n${indent}${parts.join(`,\n${indent}`)}\n${"  ".repeat(level)}${end}`;
  }

  #parts(value: object, level: number): string[] {
    if (Array.isArray(value))
      return this.#some(value.slice(0, MAX_ITEMS), value.length, (item) => this.show(item, level + 1));
    if (value instanceof Set)
      return this.#some(first(value.values()), value.size, (item) => this.show(item, level + 1));
    if (value instanceof Map) {
      const entry = ([key, item]: [unknown, unknown]) =>
        `${this.show(key, level + 1)} => ${this.show(item, level + 1)}`;
      return this.#some(first(value.entries()), value.size, entry);
    }
    const keys = Object.keys(value);
    return this.#some(
      keys.slice(0, MAX_ITEMS),
      keys.length,
      (key) => `${keyText(key)}: ${this.#property(value, key, level)}`,
    );
  }

  #some<T>(shown: readonly T[], size: number, show: (item: T) => string): string[] {
    const parts: string[] = [];
    for (const item of shown) {
      if (this.#left <= 0) break;
      this.#left -= 1;
      parts.push(show(item));
    }
    if (size > parts.length)
      parts.push(`... ${size - parts.length} more ${size - parts.length === 1 ? "item" : "items"}`);
    return parts;
  }

  /** Getters are not called. */
  #property(value: object, key: string, level: number): string {
    const property = Object.getOwnPropertyDescriptor(value, key);
    if (property === undefined) return "undefined";
    if ("value" in property) return this.show(property.value, level + 1);
    return property.get ? (property.set ? "[Getter/Setter]" : "[Getter]") : "[Setter]";
  }
}

function first<T>(values: Iterator<T>): T[] {
  const some: T[] = [];
  for (let next = values.next(); !next.done && some.length < MAX_ITEMS; next = values.next()) some.push(next.value);
  return some;
}

/** Objects that are shown as one word or text. */
function describeLeaf(value: object, level: number): string | undefined {
  if (value instanceof Error) return describeError(value, level);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Promise) return "Promise {}";
  if (Buffer.isBuffer(value)) {
    const bytes = value
      .subarray(0, 50)
      .toString("hex")
      .replace(/..(?=.)/g, "$& ");
    return `<Buffer ${bytes}${value.length > 50 ? ` ... ${value.length - 50} more bytes` : ""}>`;
  }
  if (ArrayBuffer.isView(value)) return `${className(value)}(${value.byteLength} bytes)`;
  return undefined;
}

function describeError(error: Error, level: number): string {
  const head = `${error.name}${error.message === "" ? "" : `: ${cut(error.message)}`}`;
  const stack = level === 0 && typeof error.stack === "string" ? error.stack.trimEnd() : "";
  return stack === "" ? `[${head}]` : `${head}\n${cut(stack)}`;
}

function describeFunction(value: { readonly name: string }): string {
  const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "Function";
  if (kind === "class") return `[class ${value.name || "(anonymous)"}]`;
  return value.name ? `[Function: ${value.name}]` : "[Function (anonymous)]";
}

function className(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null) return undefined;
  const { constructor: maker } = Object(prototype);
  return typeof maker === "function" ? String(maker.name) : "Object";
}

/** The label before the brackets: empty for plain objects and arrays. */
function classLabel(value: object): string {
  const name = className(value) ?? "[Object: null prototype]";
  if (value instanceof Map || value instanceof Set) return `${name}(${value.size}) `;
  return name === "Object" || name === "Array" ? "" : `${name} `;
}

function keyText(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key);
}

function quoted(text: string): string {
  const escaped = cut(text).replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\t/g, "\\t").replace(/\r/g, "\\r");
  if (!escaped.includes("'")) return `'${escaped}'`;
  return escaped.includes('"') ? `'${escaped.replace(/'/g, "\\'")}'` : `"${escaped}"`;
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}... ${text.length - MAX_TEXT} more characters` : text;
}
