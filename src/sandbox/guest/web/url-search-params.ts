import { toBytes, toText } from "../intrinsics.js";

/** Query parameters as the URL standard has them: a list of pairs, written as a form. */
export class URLSearchParams {
  #pairs: [name: string, value: string][];
  readonly #onChange: (() => void) | undefined;

  /** @param onChange updates the query of a URL. */
  constructor(init?: unknown, onChange?: () => void) {
    this.#pairs = givenPairs(init);
    this.#onChange = typeof onChange === "function" ? onChange : undefined;
  }

  get size(): number {
    return this.#pairs.length;
  }

  append(name: unknown, value: unknown): void {
    this.#change([...this.#pairs, [text(name), text(value)]]);
  }

  delete(name: unknown, value?: unknown): void {
    this.#change(this.#pairs.filter((pair) => !matches(pair, name, value)));
  }

  get(name: unknown): string | null {
    return this.#pairs.find((pair) => matches(pair, name))?.[1] ?? null;
  }

  getAll(name: unknown): string[] {
    return this.#pairs.filter((pair) => matches(pair, name)).map(([, value]) => value);
  }

  has(name: unknown, value?: unknown): boolean {
    return this.#pairs.some((pair) => matches(pair, name, value));
  }

  /** Replaces the first of its name and removes the others. */
  set(name: unknown, value: unknown): void {
    const first = this.#pairs.findIndex((pair) => matches(pair, name));
    const given: [string, string] = [text(name), text(value)];
    const others = this.#pairs.filter((pair, index) => index < first || !matches(pair, name));
    this.#change(first < 0 ? [...others, given] : others.toSpliced(first, 0, given));
  }

  /** By name in UTF-16 units; pairs of one name stay in order. */
  sort(): void {
    this.#change(this.#pairs.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  }

  forEach(callback: (value: string, name: string, params: URLSearchParams) => void, thisArg?: unknown): void {
    for (const [name, value] of this) callback.call(thisArg, value, name, this);
  }

  *entries(): Generator<[name: string, value: string]> {
    for (const [name, value] of this.#pairs) yield [name, value];
  }

  *keys(): Generator<string> {
    for (const [name] of this) yield name;
  }

  *values(): Generator<string> {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator](): Generator<[name: string, value: string]> {
    return this.entries();
  }

  toString(): string {
    return this.#pairs.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&");
  }

  get [Symbol.toStringTag](): string {
    return "URLSearchParams";
  }

  /** Parses a new query without notifying the URL, which is the caller. */
  reset(query: string): void {
    this.#pairs = parse(query);
  }

  #change(pairs: [string, string][]): void {
    this.#pairs = pairs;
    this.#onChange?.();
  }
}

/** From a query, pairs in any iterable, or an object. */
function givenPairs(init: unknown): [string, string][] {
  if (init === undefined || init === null) return [];
  if (typeof init !== "object" && typeof init !== "function") return parse(text(init));
  if (!(Symbol.iterator in init)) return Object.entries(init).map(([name, value]) => [text(name), text(value)]);
  return Array.from(Object(init), (pair): [string, string] => {
    const parts: unknown[] = Array.from(Object(pair));
    if (parts.length !== 2) throw new TypeError("Each query pair must be an iterable [name, value] tuple");
    return [text(parts[0]), text(parts[1])];
  });
}

function parse(query: string): [string, string][] {
  return query
    .replace(/^\?/, "")
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const equals = part.indexOf("=");
      return equals < 0 ? [decoded(part), ""] : [decoded(part.slice(0, equals)), decoded(part.slice(equals + 1))];
    });
}

function matches([candidate, held]: [string, string], name: unknown, value?: unknown): boolean {
  return candidate === text(name) && (value === undefined || held === text(value));
}

/** A text without lone surrogates, by the standard. */
function text(value: unknown): string {
  return String(value).toWellFormed();
}

/** The form encoding keeps only letters, digits and `*-._`. */
function encoded(value: string): string {
  return encodeURIComponent(value)
    .replace(/[!'()~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
}

function decoded(value: string): string {
  const spaced = value.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return decodedByByte(spaced);
  }
}

/** Invalid escapes stay, and invalid UTF-8 becomes U+FFFD. */
function decodedByByte(value: string): string {
  const bytes: number[] = [];
  const given = toBytes(value);
  for (let index = 0; index < given.length; index++) {
    const digits = given[index] === PERCENT ? /^[\da-f]{2}/i.exec(toText(given.subarray(index + 1, index + 3))) : null;
    if (digits) index += 2;
    bytes.push(digits ? Number.parseInt(digits[0], 16) : (given[index] ?? 0));
  }
  return toText(Uint8Array.from(bytes));
}

const PERCENT = 0x25;
