import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { HostCallError, type HostCalls } from "../ask-host.js";
import { decoded } from "./decoded.js";
import { followRedirects, type Incoming, type Outgoing } from "./exchange.js";
import { headerEntries, joinedHeaders } from "./headers.js";

export interface AxiosParts {
  readonly buildFullPath: (base: unknown, url: unknown, allowAbsolute: unknown) => string;
  readonly buildURL: (url: string, params: unknown, serializer: unknown) => string;
  readonly settle: (resolve: (value: unknown) => void, reject: (reason: unknown) => void, response: object) => void;
  readonly AxiosError: new (message: string, code: string | undefined, config: Config, request?: object) => Error;
  readonly CanceledError: new (message: string | null, config: Config, request?: object) => Error;
}

/** The supported options of axios. Agents, proxies and sockets are ignored. */
interface Config {
  readonly url?: unknown;
  readonly baseURL?: unknown;
  readonly allowAbsoluteUrls?: unknown;
  readonly params?: unknown;
  readonly paramsSerializer?: unknown;
  readonly method?: string;
  readonly data?: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly auth?: { readonly username?: string; readonly password?: string };
  readonly timeout?: number;
  readonly timeoutErrorMessage?: string;
  readonly responseType?: string;
  readonly maxRedirects?: number;
  readonly maxContentLength?: number;
  readonly maxBodyLength?: number;
  readonly decompress?: boolean;
  readonly transitional?: { readonly clarifyTimeoutError?: boolean };
  readonly signal?: AbortSignal;
  readonly cancelToken?: { readonly promise: Promise<unknown>; throwIfRequested(): void };
}

/** Replaces axios' own adapters: requests go through the host. @param zlib loads that module. */
export function createAxiosAdapter(calls: HostCalls, zlib: () => unknown) {
  return (axios: AxiosParts) => (config: Config) =>
    new Promise((resolve, reject) => {
      const canceled = () => reject(new axios.CanceledError(null, config));
      config.cancelToken?.throwIfRequested();
      if (config.signal?.aborted) canceled();
      config.signal?.addEventListener("abort", canceled);
      config.cancelToken?.promise.then(reject);
      send(calls, axios, config, zlib).then((response) => axios.settle(resolve, reject, response), reject);
    });
}

async function send(calls: HostCalls, axios: AxiosParts, config: Config, zlib: () => unknown): Promise<object> {
  const outgoing = await outgoingOf(axios, config);
  const request = { method: outgoing.method, path: new URL(outgoing.url).pathname };
  // axios counts redirects, we count requests.
  const hops = config.maxRedirects === undefined ? 6 : config.maxRedirects === 0 ? 0 : config.maxRedirects + 1;
  const received = await followRedirects(calls, outgoing, hops).catch((error: unknown) => {
    throw error instanceof HostCallError ? requestFailure(axios, error, config, request) : error;
  });
  const incoming = config.decompress === false ? received : decoded(received, zlib);
  const { maxContentLength = -1 } = config;
  if (maxContentLength > -1 && incoming.body.length > maxContentLength) {
    throw new axios.AxiosError(
      `maxContentLength size of ${maxContentLength} exceeded`,
      "ERR_BAD_RESPONSE",
      config,
      request,
    );
  }
  const { status, statusText, headers } = incoming;
  return {
    data: receivedData(incoming, config.responseType),
    status,
    statusText,
    headers: joinedHeaders(headers),
    config,
    request,
  };
}

async function outgoingOf(axios: AxiosParts, config: Config): Promise<Outgoing> {
  const { baseURL, url, allowAbsoluteUrls, params, paramsSerializer, data, auth, maxBodyLength = -1 } = config;
  const address = axios.buildURL(axios.buildFullPath(baseURL, url, allowAbsoluteUrls), params, paramsSerializer);
  if (!URL.canParse(address)) throw new axios.AxiosError("Invalid URL", "ERR_INVALID_URL", config);
  const body = await sentBody(data);
  if (maxBodyLength > -1 && body !== undefined && body.length > maxBodyLength) {
    throw new axios.AxiosError("Request body larger than maxBodyLength limit", "ERR_BAD_REQUEST", config);
  }
  const headers = sentHeaders(config.headers, data);
  const others = auth ? headers.filter(([name]) => name.toLowerCase() !== "authorization") : headers;
  const basic = auth && Buffer.from(`${auth.username ?? ""}:${auth.password ?? ""}`).toString("base64");
  return {
    method: String(config.method ?? "GET").toUpperCase(),
    url: address,
    headers: basic === undefined ? others : [...others, ["Authorization", `Basic ${basic}`]],
    body,
    timeoutMs: config.timeout || undefined,
  };
}

/** The headers of a multipart form, which has its own boundary, override those that axios guessed. */
function sentHeaders(configured: Config["headers"], data: unknown): [name: string, value: string][] {
  const { getHeaders } = Object(data);
  const own = typeof getHeaders === "function" ? headerEntries(Reflect.apply(getHeaders, data, [])) : [];
  const names = new Set(own.map(([name]) => name.toLowerCase()));
  const given = Object.entries({ ...configured }).filter(
    ([name, value]) => value !== null && value !== undefined && value !== false && !names.has(name.toLowerCase()),
  );
  return [...headerEntries(Object.fromEntries(given)), ...own];
}

async function sentBody(data: unknown): Promise<string | Uint8Array | undefined> {
  if (data === undefined || data === null) return undefined;
  if (typeof data === "string" || data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  const { on, resume } = Object(data);
  if (typeof on !== "function" || typeof resume !== "function") return String(data);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    Reflect.apply(on, data, ["data", (chunk: string | Uint8Array) => void chunks.push(Buffer.from(chunk))]);
    Reflect.apply(on, data, ["error", reject]);
    Reflect.apply(on, data, ["end", () => resolve(Buffer.concat(chunks))]);
    Reflect.apply(resume, data, []);
  });
}

function requestFailure(axios: AxiosParts, error: HostCallError, config: Config, request: object): Error {
  if (error.code !== "ETIMEDOUT") return new axios.AxiosError(error.message, error.code, config, request);
  const message = config.timeoutErrorMessage ?? `timeout of ${config.timeout}ms exceeded`;
  const code = config.transitional?.clarifyTimeoutError ? "ETIMEDOUT" : "ECONNABORTED";
  return new axios.AxiosError(message, code, config, request);
}

function receivedData({ body }: Incoming, responseType: string | undefined): unknown {
  if (responseType === "arraybuffer") return body;
  if (responseType === "stream") return Readable.from([body], { objectMode: false });
  const text = body.toString("utf8");
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}
