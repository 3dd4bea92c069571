import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { RootKeyDenied, RootKeyUnreachable } from "./root-key.js";
import type { Sensitive } from "./sensitive.js";

export type TransitCredentials =
  | { readonly kind: "token"; readonly token: Sensitive<string> }
  | { readonly kind: "approle"; readonly roleId: string; readonly secretId: Sensitive<string> };

export interface TransitSettings {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Mount of the Transit engine: "transit", or a path such as "team/transit". */
  readonly mount: string;
  readonly keyName: string;
  readonly credentials: TransitCredentials;
  readonly namespace: string | undefined;
  /** Certificates to trust in place of the system's, in PEM. */
  readonly ca: string | undefined;
  /** Longest wait for a response, in milliseconds. */
  readonly timeout?: number;
}

type TransitResponse = { readonly ok: true; readonly body: JsonObject } | ({ readonly ok: false } & Refusal);

interface Refusal {
  readonly status: number;
  readonly errors: string;
}

const TIMEOUT_MS = 5_000;
const MAX_RESPONSE_LENGTH = 256 * 1024;

/**
 * Client of the HTTP interface of Vault or OpenBao. The operator chose this destination, so the egress guard does not
 * apply. An AppRole login is kept until it is refused.
 */
export class TransitClient {
  readonly #settings: TransitSettings;
  #login: Promise<string> | undefined;

  constructor(settings: TransitSettings) {
    this.#settings = settings;
  }

  /**
   * @param path below `/v1/`
   * @returns the `data` of the response, or "refused" for a 400: the input does not fit the key.
   * @throws {RootKeyDenied | RootKeyUnreachable}
   */
  async write(path: string, body: JsonObject): Promise<JsonObject | "refused"> {
    let response = await this.#send(path, body, await this.#token());
    // The login may have expired: the operator chooses its lifetime.
    if (!response.ok && response.status === 403 && this.#settings.credentials.kind === "approle") {
      this.#login = undefined;
      response = await this.#send(path, body, await this.#token());
    }
    if (response.ok) return isJsonObject(response.body.data) ? response.body.data : {};
    if (response.status === 400) return "refused";
    throw this.#toOperatorError(response);
  }

  #token(): Promise<string> {
    const { credentials } = this.#settings;
    if (credentials.kind === "token") return Promise.resolve(credentials.token.reveal());
    this.#login ??= this.#logIn(credentials.roleId, credentials.secretId).catch((error: unknown) => {
      this.#login = undefined;
      throw error;
    });
    return this.#login;
  }

  async #logIn(roleId: string, secretId: Sensitive<string>): Promise<string> {
    const body = { role_id: roleId, secret_id: secretId.reveal() };
    const response = await this.#send("auth/approle/login", body, undefined);
    if (!response.ok) {
      if (response.status >= 500 || response.status === 429) throw this.#toOperatorError(response);
      throw new RootKeyDenied(
        `${this.#settings.origin} refuses the AppRole login (${response.status}). Check CLOAKROOM_TRANSIT_ROLE_ID and CLOAKROOM_TRANSIT_SECRET_ID.`,
      );
    }
    const { auth } = response.body;
    const token = isJsonObject(auth) ? auth.client_token : undefined;
    if (typeof token !== "string") throw this.#unreachable("its login response holds no token");
    return token;
  }

  async #send(path: string, body: JsonObject, token: string | undefined): Promise<TransitResponse> {
    const { namespace, origin } = this.#settings;
    const headers = {
      "Content-Type": "application/json",
      "X-Vault-Request": "true",
      ...(token === undefined ? {} : { "X-Vault-Token": token }),
      ...(namespace === undefined ? {} : { "X-Vault-Namespace": namespace }),
    };
    const { status, text } = await this.#exchange(new URL(`/v1/${path}`, origin), headers, JSON.stringify(body));
    if (status === 204) return { ok: true, body: {} };
    let response: Json;
    try {
      response = JSON.parse(text);
    } catch {
      throw this.#unreachable(`status ${status} without JSON`);
    }
    if (!isJsonObject(response)) throw this.#unreachable(`status ${status} without an object`);
    if (status >= 200 && status < 300) return { ok: true, body: response };
    return { ok: false, status, errors: Array.isArray(response.errors) ? response.errors.map(String).join(" ") : "" };
  }

  #exchange(url: URL, headers: Record<string, string>, body: string): Promise<{ status: number; text: string }> {
    const { ca, timeout = TIMEOUT_MS } = this.#settings;
    const options = { method: "POST", headers, signal: AbortSignal.timeout(timeout), agent: false };
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => reject(this.#unreachable(transitFailure(error, timeout)));
      const request =
        url.protocol === "https:" ? requestTls(url, { ...options, ...(ca ? { ca } : {}) }) : requestPlain(url, options);
      request.on("error", fail);
      request.on("response", (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("error", fail);
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          chunks.push(chunk);
          if (size > MAX_RESPONSE_LENGTH) request.destroy(new Error("the response is too long"));
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      });
      request.end(body);
    });
  }

  #toOperatorError({ status, errors }: Refusal): RootKeyDenied | RootKeyUnreachable {
    const { origin, mount, keyName } = this.#settings;
    if (status >= 500 || status === 429) {
      const isSealed = errors.includes("sealed");
      return this.#unreachable(isSealed ? "it is sealed" : `status ${status}`);
    }
    const remedy =
      status === 403
        ? `Check CLOAKROOM_TRANSIT_TOKEN or the AppRole, and that its policy allows update on ${mount}/encrypt/${keyName} and ${mount}/decrypt/${keyName}.`
        : "Check the mount and the name of the key in CLOAKROOM_TRANSIT_URL.";
    return new RootKeyDenied(`${origin} does not let us use the root key ${mount}/${keyName} (${status}). ${remedy}`);
  }

  #unreachable(reason: string): RootKeyUnreachable {
    return new RootKeyUnreachable(
      `The root key's holder ${this.#settings.origin} does not respond (${reason}). Start it or unseal it, or correct CLOAKROOM_TRANSIT_URL.`,
    );
  }
}

/** A code, never a message: the client's messages may contain what was sent. */
function transitFailure(error: unknown, timeout: number): string {
  if (!(error instanceof Error)) return "unknown";
  if (error.name === "AbortError" || error.name === "TimeoutError") return `nothing within ${timeout} ms`;
  return "code" in error ? String(error.code) : "no HTTP response";
}
