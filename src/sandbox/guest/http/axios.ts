import type { Buffer } from "node:buffer";
import { HostCallError, type HostCalls } from "../host-calls.js";
import { followRedirects, type Incoming } from "./exchange.js";
import { bodyContent } from "./fetch.js";
import { headerEntries } from "./headers.js";

/** The options of axios 0.27 that make sense here. Others are ignored. */
interface Config {
  readonly url?: string;
  readonly method?: string;
  readonly baseURL?: string;
  readonly params?: unknown;
  readonly data?: unknown;
  readonly headers?: unknown;
  readonly auth?: { readonly username?: string; readonly password?: string };
  readonly timeout?: number;
  readonly responseType?: string;
  readonly maxRedirects?: number;
  readonly validateStatus?: ((status: number) => boolean) | null;
}

interface AxiosResponse {
  readonly data: unknown;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Record<string, string | string[]>;
  readonly config: Config;
  readonly request: object;
}

export class AxiosError extends Error {
  readonly isAxiosError = true;
  readonly config: Config;
  readonly code: string | undefined;
  readonly response: AxiosResponse | undefined;

  constructor(message: string, code: string | undefined, config: Config, response?: AxiosResponse) {
    super(message);
    this.name = "AxiosError";
    this.code = code;
    this.config = config;
    this.response = response;
  }

  /** Without the request's data and headers: errors are often written to a log. */
  toJSON() {
    return { message: this.message, name: this.name, code: this.code, status: this.response?.status ?? null };
  }
}

/** What `require("axios")` gives: a client over the host's fetch. */
export function createAxios(calls: HostCalls) {
  const axios = client(calls, {});
  return Object.assign(axios, {
    create: (defaults?: Config) => client(calls, defaults ?? {}),
    isAxiosError: (error: unknown) => error instanceof AxiosError,
    all: (promises: Iterable<unknown>) => Promise.all(promises),
    AxiosError,
    default: axios,
  });
}

function client(calls: HostCalls, initial: Config) {
  const defaults = { ...initial };
  const request = (first: string | Config, second: Config = {}) => {
    const given = typeof first === "string" ? { ...second, url: first } : first;
    return send(calls, { ...defaults, ...given, headers: mergedHeaders(defaults.headers, given) });
  };
  const plain =
    (method: string) =>
    (url: string, config: Config = {}) =>
      request({ ...config, url, method });
  const withData =
    (method: string) =>
    (url: string, data?: unknown, config: Config = {}) =>
      request({ ...config, url, data, method });
  return Object.assign(request, {
    request,
    defaults,
    get: plain("GET"),
    delete: plain("DELETE"),
    head: plain("HEAD"),
    options: plain("OPTIONS"),
    post: withData("POST"),
    put: withData("PUT"),
    patch: withData("PATCH"),
    getUri: (config: Config = {}) => address({ ...defaults, ...config }),
  });
}

/** `defaults.headers` may be grouped: for all methods under "common", for one under its name. */
function mergedHeaders(defaults: unknown, given: Config): Record<string, unknown> {
  const groups = ["common", "get", "delete", "head", "options", "post", "put", "patch"];
  const plain = Object.entries(Object(defaults)).filter(([name]) => !groups.includes(name));
  const { common, [String(given.method ?? "GET").toLowerCase()]: ofMethod } = Object(defaults);
  return { ...common, ...ofMethod, ...Object.fromEntries(plain), ...Object(given.headers) };
}

async function send(calls: HostCalls, config: Config): Promise<AxiosResponse> {
  const method = String(config.method ?? "GET").toUpperCase();
  const body = method === "GET" || method === "HEAD" ? {} : requestBody(config.data);
  const headers = requestHeaders(config, body.type);
  const outgoing = {
    method,
    url: address(config),
    headers,
    body: body.content,
    timeoutMs: config.timeout || undefined,
  };
  // axios counts redirects, ours counts requests.
  const hops = config.maxRedirects === undefined ? 6 : config.maxRedirects === 0 ? 0 : config.maxRedirects + 1;
  const incoming = await followRedirects(calls, outgoing, hops).catch((error: unknown) => {
    throw error instanceof HostCallError ? unanswered(error, config) : error;
  });
  const response = readResponse(incoming, config);
  const { validateStatus = (status: number) => status >= 200 && status < 300 } = config;
  if (!validateStatus || validateStatus(response.status)) return response;
  const code = response.status < 500 ? "ERR_BAD_REQUEST" : "ERR_BAD_RESPONSE";
  throw new AxiosError(`Request failed with status code ${response.status}`, code, config, response);
}

function unanswered(error: HostCallError, config: Config): AxiosError {
  if (error.code !== "ETIMEDOUT") return new AxiosError(error.message, error.code, config);
  return new AxiosError(`timeout of ${config.timeout}ms exceeded`, "ECONNABORTED", config);
}

function address(config: Config): string {
  const path = config.url ?? "";
  const complete = /^([a-z][a-z\d+\-.]*:)?\/\//i.test(path) || config.baseURL === undefined;
  const url = complete
    ? path
    : path === ""
      ? config.baseURL
      : `${config.baseURL.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;
  const query = config.params instanceof URLSearchParams ? String(config.params) : queryText(config.params);
  const [base = ""] = query === "" ? [url] : url.split("#");
  return query === "" ? url : `${base}${base.includes("?") ? "&" : "?"}${query}`;
}

function queryText(params: unknown): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(Object(params))) {
    const several = Array.isArray(value);
    for (const one of several ? value : [value]) {
      if (one === undefined || one === null) continue;
      const text =
        one instanceof Date ? one.toISOString() : typeof one === "object" ? JSON.stringify(one) : String(one);
      query.append(several ? `${name}[]` : name, text);
    }
  }
  return String(query);
}

function requestBody(data: unknown): { readonly content?: string | Uint8Array; readonly type?: string } {
  const plainObject = typeof data === "object" && data !== null && !ArrayBuffer.isView(data);
  if (plainObject && !(data instanceof URLSearchParams) && !(data instanceof ArrayBuffer)) {
    return { content: JSON.stringify(data), type: "application/json" };
  }
  const { content, type } = bodyContent(data);
  if (content === undefined) return {};
  return { content, type: data instanceof URLSearchParams && type ? type : "application/x-www-form-urlencoded" };
}

function requestHeaders(config: Config, contentType: string | undefined): [string, string][] {
  const headers = headerEntries(config.headers).filter(([, value]) => value !== "undefined" && value !== "null");
  const has = (name: string) => headers.some(([given]) => given.toLowerCase() === name);
  if (!has("accept")) headers.push(["Accept", "application/json, text/plain, */*"]);
  if (contentType !== undefined && !has("content-type")) headers.push(["Content-Type", contentType]);
  if (config.auth) {
    const { username = "", password = "" } = config.auth;
    headers.push(["Authorization", `Basic ${btoa(unescape(encodeURIComponent(`${username}:${password}`)))}`]);
  }
  return headers;
}

function readResponse(incoming: Incoming, config: Config): AxiosResponse {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of incoming.headers) {
    const key = name.toLowerCase();
    const earlier = headers[key];
    if (key === "set-cookie") headers[key] = [...(Array.isArray(earlier) ? earlier : []), value];
    else headers[key] = earlier === undefined ? value : `${String(earlier)}, ${value}`;
  }
  const data = responseData(incoming.body, config.responseType);
  return { data, status: incoming.status, statusText: incoming.statusText, headers, config, request: {} };
}

/** Like axios, JSON is read wherever it can be, whatever the content type says. */
function responseData(body: Buffer, responseType: string | undefined): unknown {
  if (responseType === "arraybuffer") return body;
  const text = body.toString("utf8");
  if (responseType === "text" || text === "") return text;
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}
