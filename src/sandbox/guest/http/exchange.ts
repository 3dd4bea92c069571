import { Buffer } from "node:buffer";
import { HostCallError, type HostCalls } from "../ask-host.js";

/** A request of any client in this folder. */
export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array | undefined;
  readonly timeoutMs: number | undefined;
}

export interface Incoming {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  readonly url: string;
}

/**
 * Sends one request through the host, which decides which destinations tenants may reach.
 * @throws HostCallError (as a rejection), ETIMEDOUT when the caller's time limit passes.
 */
export async function exchange(calls: HostCalls, request: Outgoing): Promise<Incoming> {
  const { method, url, headers, body, timeoutMs } = request;
  const message = { method, url, headers, body: hostBody(body), timeoutMs: timeoutMs || undefined };
  const response: unknown = await inTime(calls.call({ to: "fetch", request: message }), timeoutMs);
  const { status, statusText, headers: received, body: content } = Object(response);
  return { status, statusText, headers: received, body: receivedBody(content), url };
}

/**
 * Follows redirects like browsers and Node's clients; the host checks each hop as a request of its own.
 * @param most hops; 0 returns the redirect itself.
 */
export async function followRedirects(calls: HostCalls, request: Outgoing, most: number): Promise<Incoming> {
  const response = await exchange(calls, request);
  const location = exchangeHeader(response.headers, "location");
  if (most === 0 || location === undefined || ![301, 302, 303, 307, 308].includes(response.status)) return response;
  if (most === 1) throw new HostCallError("ERR_FR_TOO_MANY_REDIRECTS", "maximum number of redirects exceeded");
  return followRedirects(calls, redirected(request, response.status, new URL(location, request.url)), most - 1);
}

function redirected(request: Outgoing, status: number, target: URL): Outgoing {
  const becomesGet = status === 303 ? request.method !== "HEAD" : status < 303 && request.method === "POST";
  const sameHost = new URL(request.url).host === target.host;
  const headers = request.headers.filter(([name]) => {
    const lower = name.toLowerCase();
    if (lower === "host" || (becomesGet && lower.startsWith("content-"))) return false;
    // Credentials are for the host that they were given to, and for no other.
    return sameHost || !["authorization", "cookie", "www-authenticate"].includes(lower);
  });
  const method = becomesGet ? "GET" : request.method;
  return { ...request, method, url: target.href, headers, body: becomesGet ? undefined : request.body };
}

export function exchangeHeader(headers: Incoming["headers"], name: string): string | undefined {
  return headers.find(([candidate]) => candidate.toLowerCase() === name)?.[1];
}

function hostBody(body: string | Uint8Array | undefined) {
  if (body === undefined) return undefined;
  return typeof body === "string" ? { text: body } : { base64: Buffer.from(body).toString("base64") };
}

function receivedBody(body: { readonly text?: string; readonly base64?: string }): Buffer {
  return body.text === undefined ? Buffer.from(body.base64 ?? "", "base64") : Buffer.from(body.text, "utf8");
}

function inTime<T>(response: Promise<T>, timeoutMs: number | undefined): Promise<T> {
  if (!timeoutMs) return response;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new HostCallError("ETIMEDOUT", `no response within ${timeoutMs} ms`));
    }, timeoutMs);
    response.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
