import type { Readable } from "node:stream";
import type { TenantId } from "../../base/ids.js";
import { EgressError } from "../../egress/egress-error.js";
import type { GuardedAgents } from "../../egress/guarded-agents.js";
import { guardedRequest } from "../../egress/guarded-request.js";
import type { HeaderPair } from "../../egress/request-framing.js";

/** One call to a payment service. Its body may contain a card: it is never logged, stored or put into an error. */
export interface ProviderCall {
  readonly method: "GET" | "POST" | "DELETE" | "PUT" | "PATCH";
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  readonly body?: string;
}

export interface ProviderResponse {
  readonly status: number;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  readonly text: string;
}

export type ProviderCallResult =
  | { readonly kind: "responded"; readonly response: ProviderResponse }
  /** No byte of the request left: the service cannot have executed it. */
  | { readonly kind: "never_sent"; readonly reason: string }
  /** The service may have executed it, and its response is lost. */
  | { readonly kind: "sent_unknown"; readonly reason: string };

export type ProviderHttp = (call: ProviderCall) => Promise<ProviderCallResult>;

/** Issuers take some seconds for a card. After this time, reconciliation gets the response. */
const TIMEOUT_MS = 20_000;
/** Far more than any response of the supported services. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** The only path to payment services: guarded, limited in time and size, on the tenant's own connections. */
export function providerHttp(
  agents: GuardedAgents,
  tenantId: TenantId,
  onFailure: (error: EgressError) => void,
  timeoutMs = TIMEOUT_MS,
): ProviderHttp {
  return async ({ method, url, headers, body }) => {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    try {
      const response = await guardedRequest(agents, {
        url,
        method,
        headers,
        ...(body === undefined ? {} : { body: Buffer.from(body) }),
        pool: tenantId,
        signal: timeout.signal,
        timeouts: { headersMs: timeoutMs, bodyIdleMs: timeoutMs },
        maxBodyBytes: MAX_RESPONSE_BYTES,
      });
      const text = await readText(response.body);
      const named = new Map(response.rawHeaders.map(([name, value]) => [name.toLowerCase(), value]));
      return { kind: "responded", response: { status: response.status, header: (name) => named.get(name), text } };
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      onFailure(error);
      return { kind: error.delivery === "not_sent" ? "never_sent" : "sent_unknown", reason: error.reason };
    } finally {
      clearTimeout(timer);
    }
  };
}

async function readText(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)));
  return Buffer.concat(chunks).toString("utf8");
}
