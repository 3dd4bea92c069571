import type { FastifyInstance } from "fastify";
import { LOGO } from "./logo.js";
import type { WebBuild } from "./web-build.js";
import { pageHeaders, renderDocument } from "./web-page.js";

/** Features of browsers that the console does not use are off. */
const HEADERS = {
  "origin-agent-cluster": "?1",
  "permissions-policy":
    "accelerometer=(), camera=(), clipboard-read=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), magnetometer=(), microphone=(), midi=(), payment=(), serial=(), usb=()",
} as const;

/**
 * Serves the console: one static page for each of its addresses, without a key or cookie. Its script asks the API who is
 * signed in.
 */
export function registerConsole(app: FastifyInstance, build: WebBuild): void {
  const page = renderDocument(build, { title: "Cloakroom", entry: "console/main", icon: LOGO });
  const headers = { ...pageHeaders({ connect: "'self'", images: "data:" }), ...HEADERS };
  for (const url of ["/console", "/console/*"]) {
    app.get(url, { config: { rateScope: "portal" } }, (_request, reply) => reply.headers(headers).send(page));
  }
}
