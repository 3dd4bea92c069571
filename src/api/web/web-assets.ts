import type { FastifyInstance } from "fastify";
import { OWN_PAGE_HEADERS } from "../browser/security-headers.js";
import { IMMUTABLE, sendFile } from "./send-file.js";
import { WEB_PATH, type WebBuild } from "./web-build.js";

/** A file that a browser opens as a page by itself may do nothing. */
const HEADERS = { ...OWN_PAGE_HEADERS, "content-security-policy": "default-src 'none'; frame-ancestors 'none'" };

/** Serves the scripts and styles of our pages, without a key. Their pages are on this origin, and no other may load them. */
export function registerWebAssets(app: FastifyInstance, build: WebBuild): void {
  app.get<{ Params: { readonly "*": string } }>(
    `${WEB_PATH}*`,
    { config: { rateScope: "portal" } },
    (request, reply) => {
      const file = build.files.get(request.params["*"]);
      if (!file) return reply.callNotFound();
      return sendFile(request, reply.headers({ ...HEADERS, "cache-control": IMMUTABLE }), file);
    },
  );
}
