import camelcaseKeys from "camelcase-keys";
import snakecaseKeys from "snakecase-keys";
import { type HostCalls, RefusedCall } from "./ask-host.js";

/** The published client's error if the API refuses a call, or cannot be reached (status -1). */
export class BasisTheoryApiError extends Error {
  readonly status: number;
  readonly data: unknown;

  constructor(message: string, status: number, data: unknown) {
    super(message);
    this.name = "BasisTheoryApiError";
    this.status = status;
    this.data = data;
  }
}

/**
 * `req.bt`: the methods of the published JavaScript client that tenants' code uses. Names inside token `data` and
 * `metadata` stay unchanged; all others are camelCase here and snake_case on the wire. Input and output of tokenize and
 * detokenize have the caller's structure and are never renamed.
 */
export function createBt(calls: HostCalls) {
  const errors = new WeakMap<object, BasisTheoryApiError>();
  const rejected = (error: unknown): never => {
    if (typeof error !== "object" || error === null) throw apiError(error);
    const known = errors.get(error) ?? apiError(error);
    errors.set(error, known);
    throw known;
  };
  const call = (method: string, args: unknown) => calls.call({ to: "bt", method, args }).catch(rejected);
  const callTokens = async (method: string, args: unknown) => tokenResponse(await call(`tokens.${method}`, args));

  return {
    tokenize: (payload: unknown) => call("tokenize", payload),
    detokenize: (payload: unknown) => call("detokenize", payload),
    tokens: {
      create: (model: unknown) => callTokens("create", tokenRequest(model)),
      retrieve: (id: unknown) => callTokens("retrieve", { id: String(id) }),
      update: (id: unknown, patch: unknown) => callTokens("update", { id: String(id), patch: tokenRequest(patch) }),
      delete: async (id: unknown) => void (await call("tokens.delete", { id: String(id) })),
      search: (search: unknown) => callTokens("search", tokenRequest(search)),
      list: (query: unknown) => callTokens("list", query ?? {}),
    },
  };
}

function apiError(error: unknown): BasisTheoryApiError {
  if (error instanceof RefusedCall) {
    const message = `Request failed with status code ${error.status}`;
    return new BasisTheoryApiError(message, error.status, renamed(error.body, camelcaseKeys));
  }
  return new BasisTheoryApiError(error instanceof Error ? error.message : String(error), -1, undefined);
}

type Rename = (value: object, options: { deep: boolean }) => object;

function renamed(value: unknown, rename: Rename): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  return isObject(value) ? rename(value, { deep: true }) : value;
}

function tokenRequest(model: unknown): unknown {
  return renamedToken(model, snakecaseKeys);
}

/** One token, or a page of them. */
function tokenResponse(response: unknown): unknown {
  if (!isObject(response) || !("pagination" in response) || !("data" in response) || !Array.isArray(response.data)) {
    return renamedToken(response, camelcaseKeys);
  }
  return {
    data: response.data.map((token) => renamedToken(token, camelcaseKeys)),
    pagination: renamed(response.pagination, camelcaseKeys),
  };
}

function renamedToken(token: unknown, rename: Rename): unknown {
  if (!isObject(token)) return token;
  const kept: Record<string, unknown> = {};
  if ("data" in token && token.data !== undefined) kept.data = token.data;
  if ("metadata" in token && token.metadata !== undefined) kept.metadata = token.metadata;
  return { ...rename(token, { deep: true }), ...kept };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
