import { CloakroomError } from "./errors.js";
import { parseUrl } from "./parse-url.js";

/** Sees each attempt of a call. It may add headers; the key is not among those that it sees, and neither is the input. */
export type Interceptor = (
  request: InterceptedRequest,
  next: () => Promise<InterceptedResponse>,
) => Promise<InterceptedResponse>;

export interface InterceptedRequest {
  /** Such as `TokenService/CreateToken`. */
  readonly method: string;
  /** From 1. */
  readonly attempt: number;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
}

export interface InterceptedResponse {
  readonly headers: Readonly<Record<string, string>>;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Takes one line and its fields: method, attempt, code, trace id, milliseconds. Never a value, a header or the key. */
export type Logger = Readonly<Record<LogLevel, (message: string, fields: Readonly<Record<string, unknown>>) => void>>;

/** How a client is made. */
export interface CloakroomOptions {
  /** Where the vault is, such as `https://vault.example.com`. In Node by default the variable CLOAKROOM_URL. */
  readonly baseUrl?: string | undefined;
  /** The key of an application or a session, or a function that returns the current one. In Node by default CLOAKROOM_API_KEY. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined;
  /** Milliseconds for each call, with all its attempts. By default 30,000; 0 sets no limit. */
  readonly timeout?: number | undefined;
  /** Why the calls of this client are made, for the log of the vault. 3 to 500 characters of any script. */
  readonly reason?: string | undefined;
  /**
   * How often a call may be sent again. By default 2. All calls of a client share a budget besides: ten retries, and one
   * more for each ten calls that succeed. Lost connections, and rate limits that say when to come back, cost nothing.
   */
  readonly maxRetries?: number | undefined;
  /** Sent with each call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The first is the outermost. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  /** By default nothing is logged. */
  readonly logger?: Partial<Logger> | undefined;
  /** Allows http:// to other hosts than this one. Keys and values then cross the network in the clear. */
  readonly allowInsecure?: boolean | undefined;
  /** Another `fetch`, for calls over Connect. */
  readonly fetch?: typeof fetch | undefined;
}

/** Certificates, in PEM. */
export interface TlsOptions {
  /** The authorities to trust in place of the public ones. */
  readonly ca?: string | readonly string[] | undefined;
  /** What the client proves itself with, where the server or a proxy asks for it. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name that the server's certificate must have, where it is not the host of baseUrl. */
  readonly serverName?: string | undefined;
}

/** What only Node has. */
export interface NodeOptions extends CloakroomOptions {
  /** By default `grpc`. `connect` goes through proxies that speak HTTP/1.1 only, and takes no `tls`. */
  readonly transport?: "grpc" | "connect" | undefined;
  readonly tls?: TlsOptions | undefined;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|.*\.localhost)$/;
/** Keys that a page must not have: anyone who reads its source could act with them. */
const SECRET_KEY = /^key_[a-z0-9]+_(pvt|mgt|prx)_/;

/** @throws {CloakroomError} for an address that keys must not be sent to. */
export function checkedBaseUrl(text: string | undefined, allowInsecure = false): URL {
  if (!text) throw misuse("baseUrl is missing: the address of the vault.");
  const url = parseUrl(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw misuse("baseUrl must begin with https://.");
  }
  if (url.username || url.search || url.hash) throw misuse("baseUrl must have no user, query or fragment.");
  if (url.protocol === "http:" && !allowInsecure && !LOOPBACK.test(url.hostname)) {
    throw misuse("http sends values in the clear: use https, or set allowInsecure.");
  }
  return url;
}

/** @throws {CloakroomError} for the key of a back end in a browser. */
export function refuseSecretKey(key: string): void {
  const [, kind] = SECRET_KEY.exec(key) ?? [];
  if (kind) throw misuse(`A ${kind} key must not be in a browser: anyone can read it. Use a public or session key.`);
}

/** A mistake in the program, not in a call's input. */
export function misuse(message: string): CloakroomError {
  return new CloakroomError({ code: "validation_failed", message }, { method: "", attempts: 0 });
}
