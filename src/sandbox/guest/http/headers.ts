/** Header fields as in fetch and node-fetch 2: case-insensitive names, several values of one name joined by ", ". */
export class Headers {
  readonly #values = new Map<string, string[]>();

  constructor(init?: unknown) {
    for (const [name, value] of headerEntries(init)) this.append(name, value);
  }

  append(name: unknown, value: unknown): void {
    const key = headerName(name);
    this.#values.set(key, [...(this.#values.get(key) ?? []), headerValue(value)]);
  }

  set(name: unknown, value: unknown): void {
    this.#values.set(headerName(name), [headerValue(value)]);
  }

  get(name: unknown): string | null {
    return this.#values.get(headerName(name))?.join(", ") ?? null;
  }

  has(name: unknown): boolean {
    return this.#values.has(headerName(name));
  }

  delete(name: unknown): void {
    this.#values.delete(headerName(name));
  }

  /** All values by name, as in node-fetch. */
  raw(): Record<string, string[]> {
    return Object.fromEntries([...this.#values].map(([name, values]) => [name, [...values]]));
  }

  forEach(callback: (value: string, name: string, headers: Headers) => void, thisArg?: unknown): void {
    for (const [name, value] of this) callback.call(thisArg, value, name, this);
  }

  *entries(): Generator<[name: string, value: string]> {
    for (const name of [...this.#values.keys()].sort()) yield [name, this.get(name) ?? ""];
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
}

/** From another `Headers`, pairs, or an object whose values may be lists. */
export function headerEntries(init: unknown): [name: string, value: string][] {
  if (init === undefined || init === null) return [];
  if (init instanceof Headers || Array.isArray(init))
    return [...init].map(([name, value]) => [String(name), String(value)]);
  return Object.entries(Object(init)).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): [string, string] => [name, String(one)]),
  );
}

/** Headers in the form of `https` and axios: by lower-case name, values of one name joined, cookies as a list. */
export function joinedHeaders(headers: readonly (readonly [name: string, value: string])[]) {
  const joined: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const earlier = joined[key];
    if (key === "set-cookie") joined[key] = [...(Array.isArray(earlier) ? earlier : []), value];
    else joined[key] = earlier === undefined ? value : `${String(earlier)}, ${value}`;
  }
  return joined;
}

function headerName(name: unknown): string {
  const text = String(name).toLowerCase();
  if (!/^[\^_`a-z\-0-9!#$%&'*+.|~]+$/.test(text)) throw new TypeError(`${text} is not a legal HTTP header name`);
  return text;
}

function headerValue(value: unknown): string {
  const text = String(value).trim();
  // Line ends and other control characters; a tab is allowed.
  if ([...text].some((char) => (char < " " && char !== "\t") || char === "\u007f")) {
    throw new TypeError("a header value has a character that is not allowed");
  }
  return text;
}
