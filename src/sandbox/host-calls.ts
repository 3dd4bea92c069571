import type { Json } from "../base/json.js";

export const btMethods = [
  "tokenize",
  "detokenize",
  "tokens.create",
  "tokens.retrieve",
  "tokens.update",
  "tokens.delete",
  "tokens.search",
  "tokens.list",
] as const;
export type BtMethod = (typeof btMethods)[number];

/** Header names and values in the order of sending; names may repeat. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** A body as text, or as base64 if it is not UTF-8. */
export type HostBody = { readonly text: string } | { readonly base64: string };

export interface HostFetchRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  readonly body?: HostBody | undefined;
  /** The guest's time limit in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

export interface HostFetchResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderList;
  readonly body: HostBody;
}

/**
 * The outside access of tenants' code. The caller provides it per run, with its permissions, logging and egress rules.
 */
export interface HostCalls {
  /**
   * Absent if the function has no application. Arguments and response have the wire form (snake_case): `tokenize` and
   * `detokenize` take the payload itself, `tokens.create` the token, `tokens.retrieve` and `tokens.delete` `{id}`,
   * `tokens.update` `{id, patch}`, `tokens.search` the search, `tokens.list` optional `{id, type, metadata, page,
   * size}`.
   * @throws BtRefusal for an API error that the guest may see. Other errors reach it without details.
   */
  readonly bt?: (method: BtMethod, args: Json, signal: AbortSignal) => Promise<Json>;
  /** @throws HostFailure for an error that the guest may see. Other errors reach it without details. */
  readonly fetch: (request: HostFetchRequest, signal: AbortSignal) => Promise<HostFetchResponse>;
}

/** The API refused a call of `bt`; holds the REST response. */
export class BtRefusal extends Error {
  override readonly name = "BtRefusal";
  readonly status: number;
  readonly body: Json;

  constructor(status: number, body: Json) {
    super("a call of bt was refused");
    this.status = status;
    this.body = body;
  }
}

/** A host call failed. The guest sees code and message, so neither may say more than tenants may know. */
export class HostFailure extends Error {
  override readonly name = "HostFailure";
  readonly code: string;

  /** @param code as in Node's errors: "ECONNREFUSED", "ETIMEDOUT". */
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
