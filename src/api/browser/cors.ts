import type { IncomingMessage, ServerResponse } from "node:http";
import type { ArrivedRequest, OpenResponse } from "../connection/exchange.js";
import { hasOurCookie } from "./visits.js";

/** Headers that scripts may read beside the body. */
const EXPOSED = [
  "BT-TRACE-ID",
  "BT-IDEMPOTENCY-REPLAYED",
  "BT-PROXY-DESTINATION-STATUS",
  "Location",
  "Retry-After",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "Connect-Content-Encoding",
  "Grpc-Status",
  "Grpc-Message",
  "Grpc-Status-Details-Bin",
].join(", ");

const METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS";
const HEADER_LIST = /^[A-Za-z0-9-_]+(?:\s*,\s*[A-Za-z0-9-_]+)*$/;

/** Frames of hosted fields send their pass to their own origin. No page of another one may. */
const FRAME_PASS_HEADER = "cloakroom-frame";

/** CORS for pages of other origins. Never with credentials: a key authenticates, not a cookie. */
export interface Cors {
  /** Adds the headers that permit the page to read the response. */
  allow(request: ArrivedRequest, response: OpenResponse): void;
  /** Answers a preflight. Requested headers are allowed by name, because a proxy forwards any. */
  respondToPreflight(request: IncomingMessage, response: ServerResponse): void;
}

export function createCors(origins: readonly string[]): Cors {
  const all = origins.includes("*");
  const allow: Cors["allow"] = (request, response) => {
    const { origin } = request.headers;
    if (origin === undefined || !(all || origins.includes(origin))) return;
    // What a person may see is for the vault's own pages, which need no CORS.
    if (hasOurCookie(request.headers)) return;
    response.setHeader("access-control-allow-origin", all ? "*" : origin);
    if (!all) response.setHeader("vary", "Origin");
    response.setHeader("access-control-expose-headers", EXPOSED);
  };
  return {
    allow,
    respondToPreflight(request, response) {
      const asked = request.headers["access-control-request-headers"];
      response.statusCode = 204;
      if (response.hasHeader("access-control-allow-origin")) {
        response.setHeader("access-control-allow-methods", METHODS);
        const allowed = asked === undefined ? "" : allowedOf(asked);
        if (allowed !== "") response.setHeader("access-control-allow-headers", allowed);
        response.setHeader("access-control-max-age", "7200");
      }
      response.end();
    },
  };
}

/** The names of requested headers that a page may send. */
function allowedOf(asked: string): string {
  if (!HEADER_LIST.test(asked)) return "";
  if (!asked.toLowerCase().includes(FRAME_PASS_HEADER)) return asked;
  const names = asked.split(",").map((name) => name.trim());
  return names.filter((name) => name.toLowerCase() !== FRAME_PASS_HEADER).join(", ");
}
