import { isIP } from "node:net";
import type { FastifyInstance } from "fastify";

/**
 * Refuses requests that a page of another origin makes in an operator's browser. The port has no authentication: only
 * the network protects it, and the browser is inside. A page cannot read another origin, but can have its own name
 * resolve to the port's address (DNS rebinding). Requests then carry that name as their host.
 * @param names under which operators reach the port, beside `localhost` and every IP address, which no one can redirect.
 */
export function admitOperatorsOnly(app: FastifyInstance, names: readonly string[]): void {
  const known = new Set(["localhost", ...names.map((name) => name.toLowerCase())]);
  app.addHook("onRequest", async ({ headers }, reply) => {
    // Only HTTP/1.0 has no host, and no browser speaks it.
    const name = headers.host === undefined ? "localhost" : nameIn(headers.host);
    if (isIP(name) === 0 && !known.has(name)) {
      return reply.code(421).send({
        error: `This port does not answer under the name ${JSON.stringify(name.slice(0, 253))}. Use its address, or add the name to CLOAKROOM_ADMIN_NAMES.`,
      });
    }
    if (isOfAnotherPage(headers)) return reply.code(403).send({ error: "This port does not answer pages." });
  });
}

/** Lower case, without port, brackets and the dot of a complete name. */
function nameIn(host: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? plain ?? host).toLowerCase().replace(/[.]$/, "");
}

/** Programs send neither header, nor does the address bar send an origin. */
function isOfAnotherPage({ origin, "sec-fetch-site": site }: Readonly<Record<string, unknown>>): boolean {
  return origin !== undefined || (site !== undefined && site !== "none" && site !== "same-origin");
}
