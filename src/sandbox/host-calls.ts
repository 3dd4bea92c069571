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

/** Header names and values in the order in which they are sent; names may repeat. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** A body as text, or as base64 where it is no UTF-8. */
export type HostBody = { readonly text: string } | { readonly base64: string };

export interface HostFetchRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  readonly body?: HostBody | undefined;
  /** Milliseconds that the guest is willing to wait. */
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
   * Absent where the function has no application.
   *
   * Arguments and answer as on the wire (snake_case): `tokenize` and `detokenize` take the payload itself,
   * `tokens.create` the token, `tokens.retrieve` and `tokens.delete` `{id}`, `tokens.update` `{id, patch}`,
   * `tokens.search` the search, `tokens.list` `{id, type, metadata, page, size}` as far as given.
   *
   * @throws BtRefusal for what the guest is to see as an error of the API. Anything else is an error without details.
   */
  readonly bt?: (method: BtMethod, args: Json, signal: AbortSignal) => Promise<Json>;
  /** @throws HostFailure for what the guest is to see. Anything else is an error without details. */
  readonly fetch: (request: HostFetchRequest, signal: AbortSignal) => Promise<HostFetchResponse>;
}

/** The API refuses a call of `bt`: what its REST answer would be. */
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

/** A host call came to no answer. The guest sees code and message, so neither may say more than tenants may know. */
export class HostFailure extends Error {
  override readonly name = "HostFailure";
  readonly code: string;

  /** @param code as Node names such errors: "ECONNREFUSED", "ETIMEDOUT". */
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
