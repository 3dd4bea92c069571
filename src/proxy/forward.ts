import type { HeaderPair } from "../egress/request-framing.js";

/** Headers of any other name are dropped silently (docs/proxies.md). */
const PLAIN_NAME = /^[A-Za-z0-9_-]+$/;

/** Headers of one connection only (RFC 9110, 7.6.1), or generated for the other side. */
const OF_CONNECTION = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
  "expect",
  "host",
  "http2-settings",
]);

/**
 * Headers that `Connection` cannot remove: they are for the last recipient. Without those of the content the destination
 * would interpret the body differently from the search for references or a transform. Without `Authorization` or `Cookie` it
 * would act for another user; without `Cache-Control` a cache would store what it must not.
 */
const END_TO_END = /^(?:content-.*|authorization|cookie|set-cookie|cache-control|location)$/;

/** Our own headers, which are never forwarded. */
const OURS = /^(?:bt-|x-cloakroom-)/i;

/**
 * The caller's headers for the destination, in their original case and order. BT-PROXY-KEEP-ALIVE and
 * BT-PROXY-CONNECTION become KEEP-ALIVE and CONNECTION, which are otherwise dropped. A browser's cookies are dropped before
 * (api/proxy/proxy-route.ts); host and length are set after (egress/request-framing.ts).
 */
export function forwardedHeaders(headers: readonly HeaderPair[]): HeaderPair[] {
  const forwarded = withoutHop(headers).filter(([name]) => PLAIN_NAME.test(name) && !OURS.test(name));
  const keepAlive = headerValue(headers, "bt-proxy-keep-alive");
  const connection = headerValue(headers, "bt-proxy-connection");
  if (keepAlive !== undefined) forwarded.push(["KEEP-ALIVE", keepAlive]);
  if (connection !== undefined) forwarded.push(["CONNECTION", connection]);
  return forwarded;
}

/** The destination's headers for the caller: all except those of the connection. */
export function returnedHeaders(headers: readonly HeaderPair[]): HeaderPair[] {
  return withoutHop(headers);
}

function withoutHop(headers: readonly HeaderPair[]): HeaderPair[] {
  const named = new Set(headerValues(headers, "connection").flatMap((value) => value.toLowerCase().split(/[\s,]+/)));
  return headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !OF_CONNECTION.has(lower) && (!named.has(lower) || END_TO_END.test(lower));
  });
}

export function headerValue(headers: readonly HeaderPair[], lowerName: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === lowerName)?.[1];
}

/** All values of a header, which may be repeated. */
export function headerValues(headers: readonly HeaderPair[], lowerName: string): readonly string[] {
  return headers.filter(([name]) => name.toLowerCase() === lowerName).map(([, value]) => value);
}

/**
 * The parameter that names a proxy. Every spelling that decodes to its name is found, because a key must not be
 * forwarded.
 */
const KEY_PARAMETER = "bt-proxy-key";

/** The caller's query for the destination, without our parameter. */
export function forwardedQuery(query: string): string {
  if (!query.includes("%") && !query.includes(KEY_PARAMETER)) return query;
  const pairs = query.slice(1).split("&");
  const kept = pairs.filter((pair) => !new URLSearchParams(pair).has(KEY_PARAMETER));
  if (kept.length === pairs.length) return query;
  return kept.length === 0 ? "" : `?${kept.join("&")}`;
}

export function proxyKeyIn(query: string): string | undefined {
  return new URLSearchParams(query).get(KEY_PARAMETER) ?? undefined;
}
