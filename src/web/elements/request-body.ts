import { fieldsOf } from "./messages-in.js";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Thrown for a body that a page may not send from a frame. Its text names the place, never a value. */
export class BodyRefused extends Error {
  override readonly name = "body_refused";
}

const DEEPEST = 64;
/**
 * Token fields that the page may see. Its data and mask could hold the value, by an expression that the page wrote. With a
 * fingerprint, the page could find the digits between bin and last four by tokenizing guesses: there are 1,000.
 */
const SHOWN = [
  ...["id", "type", "tenant_id", "containers", "metadata", "expires_at", "created_at", "created_by"],
  ...["card", "bank", "_extras"],
];

interface Found {
  readonly element: string;
  readonly part: string | undefined;
}

/** The elements that a body names. */
export function elementsIn(body: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  fill(body, ({ element }) => {
    found.add(element);
    return null;
  });
  return found;
}

/**
 * Puts values in the place of elements. Values go only where the vault tokenizes: into `data`, or to the place of a
 * value that becomes a token by itself.
 * @throws {BodyRefused}
 */
export function fill(body: unknown, valueFor: (found: Found) => Json, place = "body", depth = 0): Json {
  if (depth > DEEPEST) throw new BodyRefused(`${place} is nested too deeply`);
  if (body === null || typeof body !== "object") return leaf(body, place);
  const inner = (value: unknown, name: string) => fill(value, valueFor, `${place}${name}`, depth + 1);
  if (Array.isArray(body)) return body.map((item, index) => inner(item, `[${index}]`));
  const fields = fieldsOf(body);
  const { $element: element, part } = fields;
  if (typeof element === "string") return valueFor({ element, part: typeof part === "string" ? part : undefined });
  const isToken = "type" in fields && "data" in fields;
  const entries = Object.entries(fields).map(([name, value]): [string, Json] => {
    if (isToken && name !== "data") requirePlain(value, `${place}.${name}`, name);
    return [name, inner(value, `.${name}`)];
  });
  return Object.fromEntries(entries);
}

function leaf(value: unknown, place: string): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new BodyRefused(`${place} is not a JSON value`);
}

/**
 * Beside its data, a token's fields appear in responses. They must not contain elements, an id computed from the data, or
 * a fingerprint chosen by the page: equal fingerprints give the same id to deduplicated tokens, so a page that tries one
 * digit at a time would find all of them.
 */
function requirePlain(value: unknown, place: string, name: string): void {
  if (hasElement(value)) throw new BodyRefused(`${place} cannot hold an element: only data is stored encrypted`);
  if (name === "fingerprint_expression" && value !== null) {
    throw new BodyRefused(`${place} cannot be chosen by a page: leave it out`);
  }
  if (name !== "id" || typeof value !== "string" || !value.includes("{{")) return;
  if (/^[^{}]*\{\{[^{}]*\|\s*alias_[a-z_]+[^{}|]*\}\}[^{}]*$/.test(value)) return;
  throw new BodyRefused(`${place} may use an expression only if it ends in an alias filter`);
}

function hasElement(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return "$element" in value || Object.values(value).some(hasElement);
}

/** What the page gets of a response: ids, and tokens without their data. */
export function shownResponse(body: unknown, response: Json): Json {
  if (typeof body !== "object" || body === null || "$element" in body)
    return typeof response === "string" ? response : null;
  if (Array.isArray(body)) {
    return Array.isArray(response) ? body.map((item, index) => shownResponse(item, response[index] ?? null)) : null;
  }
  const received = fieldsOf(response);
  const isToken = "type" in body && "data" in body;
  const names = isToken ? SHOWN.filter((name) => name in received) : Object.keys(body);
  const show = (name: string) => jsonOf(received[name]);
  return Object.fromEntries(
    names.map((name) => [name, isToken ? show(name) : shownResponse(Reflect.get(body, name), show(name))]),
  );
}

function jsonOf(value: unknown): Json {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
