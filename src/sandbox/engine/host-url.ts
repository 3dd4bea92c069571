import type { JsonObject } from "../../base/json.js";
import { object, parseWireJson } from "../wire/shape.js";
import { SETTABLE_URL_PARTS } from "../wire/url-parts.js";

const MAX_CHARACTERS = 100_000;

/**
 * A request of the guest's URL class: `{input, base?, set?: [part, value]}`.
 * @returns the parts of the address as JSON, or "" if it is invalid.
 */
export function urlCall(request: string): string {
  try {
    const { input, base, set } = object(parseWireJson(Buffer.from(request)));
    if (typeof input !== "string" || input.length > MAX_CHARACTERS) return "";
    const url = new URL(input, typeof base === "string" ? base : undefined);
    if (Array.isArray(set)) change(url, set);
    return JSON.stringify(urlParts(url));
  } catch {
    return "";
  }
}

function change(url: URL, [name, value]: readonly unknown[]): void {
  const part = SETTABLE_URL_PARTS.find((candidate) => candidate === name);
  if (part !== undefined && typeof value === "string" && value.length <= MAX_CHARACTERS) url[part] = value;
}

function urlParts(url: URL): JsonObject {
  const { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash } = url;
  return { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash };
}
