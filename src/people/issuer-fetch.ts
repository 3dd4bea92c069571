import { buffer } from "node:stream/consumers";
import type { CustomFetch } from "openid-client";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { guardedRequest } from "../egress/guarded-request.js";

/** Responses of issuers are small: configuration, keys, tokens. */
const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 10_000;

/**
 * Calls of the OpenID Connect client, through the egress guard: an issuer at an address that is not public needs an entry
 * in CLOAKROOM_EGRESS_ALLOW.
 */
export function issuerFetch(agents: GuardedAgents): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const response = await guardedRequest(agents, {
      url,
      method,
      headers: Object.entries(headers),
      body: sentBytes(body),
      pool: "openid",
      maxBodyBytes: MAX_BYTES,
      timeouts: { headersMs: TIMEOUT_MS, bodyIdleMs: TIMEOUT_MS },
      signal,
    });
    const content = await buffer(response.body);
    const received = new Headers();
    for (const [name, value] of response.rawHeaders) received.append(name, value);
    const isBodiless = [204, 205, 304].includes(response.status);
    return new Response(isBodiless ? null : new Uint8Array(content), { status: response.status, headers: received });
  };
}

/** The client sends forms and nothing else. */
function sentBytes(body: unknown): Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string" || body instanceof URLSearchParams) return Buffer.from(body.toString());
  if (body instanceof Uint8Array) return body;
  throw new Error("the OpenID Connect client sends a body of an unexpected kind");
}
