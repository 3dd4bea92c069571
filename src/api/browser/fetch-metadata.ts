import type { IncomingHttpHeaders } from "node:http";
import { Fault } from "../../base/fault.js";

/**
 * Destinations for which browsers may load a tenant's content (Fetch, "request destination"). `empty` is fetch().
 * Images and media run no script and change no state of the origin. Every other destination, including unknown ones,
 * may.
 */
const DATA: ReadonlySet<string> = new Set(["empty", "image", "audio", "video", "track"]);

/**
 * Destinations for which browsers may load our own pages. A frame stays empty (frame-ancestors), but may deliver a
 * payment's result.
 */
const PAGES: ReadonlySet<string> = new Set(["empty", "document", "iframe", "frame"]);

/** The modes of fetch() and of images; the others are `navigate`, `websocket` and `webtransport`. */
const SUBRESOURCE_MODES: ReadonlySet<string> = new Set(["cors", "no-cors", "same-origin"]);

/**
 * Refuses a tenant's content to a browser that would run, show or apply it on our origin: as a document, frame, script,
 * worker, style, font and the like. Other clients send none of these headers, except Node's fetch(), which sends
 * `Sec-Fetch-Mode: cors`.
 * @throws {Fault} permission_denied
 */
export function refuseLoadAsPage(headers: IncomingHttpHeaders): void {
  if (isData(headers) && !isPrefetch(headers) && headers["service-worker"] === undefined) return;
  throw new Fault(
    "permission_denied",
    "A browser cannot open this address as a page, frame, script, style or font. Call it from a script with fetch().",
  );
}

/** Without TLS, except on loopback, browsers send no Fetch Metadata: there a navigation asks to be upgraded to TLS. */
function isData(headers: IncomingHttpHeaders): boolean {
  const { "sec-fetch-dest": dest, "sec-fetch-mode": mode } = headers;
  if (dest === undefined && headers["upgrade-insecure-requests"] !== undefined) return false;
  return DATA.has(dest ?? "empty") && SUBRESOURCE_MODES.has(mode ?? "cors");
}

/** Whether a browser loads something in advance: it may use it for a navigation without asking the server again. */
export function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return /prefetch|prerender/.test(String(headers["sec-purpose"] ?? headers.purpose ?? ""));
}

/** Refuses one of our pages as a script, style, font, image or plug-in. @throws {Fault} permission_denied */
export function requirePageLoad(headers: IncomingHttpHeaders): void {
  if (PAGES.has(headers["sec-fetch-dest"] ?? "document") && headers["service-worker"] === undefined) return;
  throw new Fault("permission_denied", "This address is a page: it cannot be loaded as a part of another one.");
}

/** Whether a browser sent the request: browsers keep cookies and ask people for passwords in the name of our origin. */
export function isFromBrowser(headers: IncomingHttpHeaders): boolean {
  return BROWSER_SIGNS.some((name) => headers[name] !== undefined);
}

const BROWSER_SIGNS = ["sec-fetch-site", "sec-fetch-dest", "origin", "service-worker", "upgrade-insecure-requests"];
