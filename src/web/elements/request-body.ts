import { messageFields } from "./messages-in.js";
import type { DataPlace } from "./placement.js";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Thrown for a body that a page may not send from a frame. Its text names the place, never a value. */
export class BodyRefused extends Error {
  override readonly name = "body_refused";
}

const DEEPEST = 64;
/**
 * What a page may set of a token. Everything else could hold an expression over the data. The vault refuses it too, and
 * decides what responses show.
 */
const ALLOWED = ["type", "data", "metadata", "containers", "expires_at", "template"];

export interface Found extends DataPlace {
  readonly element: string;
  /** Its place, for messages: `body.card.data.number`. */
  readonly place: string;
}

interface Position {
  readonly place: string;
  readonly depth: number;
  /** Absent outside of tokens, where each value becomes one. */
  readonly data?: { readonly tokenType: string; readonly path: string; readonly isTemplated: boolean };
  /** In a token, beside its data. */
  readonly isBesideData?: boolean;
}

/** The elements that a body names, with their places. @throws {BodyRefused} */
export function elementsIn(body: unknown): readonly Found[] {
  const found: Found[] = [];
  fill(body, (element) => {
    found.push(element);
    return null;
  });
  return found;
}

/** Puts values in the place of elements. @throws {BodyRefused} */
export function fill(body: unknown, valueFor: (found: Found) => Json): Json {
  return visit(body, valueFor, { place: "body", depth: 0 });
}

function visit(value: unknown, valueFor: (found: Found) => Json, at: Position): Json {
  const { place, depth, data } = at;
  if (depth > DEEPEST) throw new BodyRefused(`${place} is nested too deeply`);
  if (value === null || typeof value !== "object") return leaf(value, at);
  if (Array.isArray(value))
    return value.map((item, index) => visit(item, valueFor, below(at, `[${index}]`, `${index}`)));
  const fields = messageFields(value);
  const { $element: element, part } = fields;
  if (typeof element === "string") {
    if (at.isBesideData) throw new BodyRefused(`${place} cannot hold an element: only data is stored encrypted`);
    const { tokenType, path } = data ?? { tokenType: "token", path: "" };
    return valueFor({ element, place, tokenType, path, part: typeof part === "string" ? part : undefined });
  }
  const isToken = !data && !at.isBesideData && "type" in fields && "data" in fields;
  const entries = Object.entries(fields).map(([name, inner]): [string, Json] => {
    const next = isToken ? inToken(fields, name, at) : below(at, `.${name}`, name);
    return [name, visit(inner, valueFor, next)];
  });
  return Object.fromEntries(entries);
}

function below(at: Position, step: string, name: string): Position {
  const { data } = at;
  const inner = { ...at, place: `${at.place}${step}`, depth: at.depth + 1 };
  return data ? { ...inner, data: { ...data, path: data.path === "" ? name : `${data.path}.${name}` } } : inner;
}

/** A field of a token. @throws {BodyRefused} for one that a page may not set. */
function inToken(token: Readonly<Record<string, unknown>>, name: string, { place, depth }: Position): Position {
  const inner = { place: `${place}.${name}`, depth: depth + 1 };
  if (name === "data") {
    const isTemplated = token.template !== undefined && token.template !== null;
    return { ...inner, data: { tokenType: String(token.type), path: "", isTemplated } };
  }
  if (ALLOWED.includes(name)) return { ...inner, isBesideData: true };
  throw new BodyRefused(`${inner.place} cannot be set by a page: name a template of the application in its place`);
}

function leaf(value: unknown, { place, data }: Position): Json {
  if (value === null || typeof value === "boolean") return value;
  const isJson = typeof value === "string" || (typeof value === "number" && Number.isFinite(value));
  if (!isJson) throw new BodyRefused(`${place} is not a JSON value`);
  // A template may give equal values one id: with a value of its own, the page could try which one was typed.
  if (data?.isTemplated) throw new BodyRefused(`${place} must be an element, as all data under a template`);
  return value;
}
