import { CloakroomError } from "@cloakroom/client";
import { type Client, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { SignInService, type WhoAmIResponse } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { ErrorInfoSchema } from "#client/proto/google/rpc/error_details_pb.js";
import { clientFor } from "./api-call.js";
import type { VaultAddress } from "./credentials.js";
import { OWN_PAGE_HEADERS } from "./own-page-headers.js";
import { readFile } from "./standard-input.js";

const TIMEOUT_MS = 30_000;

interface SignInOptions {
  /** Aborted at Ctrl-C. */
  readonly signal: AbortSignal;
  /** Milliseconds for each call. Default 30,000. */
  readonly timeout?: number | undefined;
}

/** Calls of {@link SignInService}, with the cookies that a browser would keep. */
export class SignInClient {
  readonly #client: Client<typeof SignInService>;
  readonly #signal: AbortSignal;
  readonly #cookies = new Map<string, string>();

  /** @param cookie of a sign-in, if there is one already. @throws {CloakroomError} for an address without TLS. */
  constructor({ url, caFile }: VaultAddress, { signal, timeout = TIMEOUT_MS }: SignInOptions, cookie?: string) {
    // Checks the address, as for every other call.
    clientFor({ url, caFile, identity: { kind: "person", cookie: "", from: "" } });
    this.#signal = signal;
    if (cookie !== undefined) this.#keep(cookie);
    const tls = caFile === undefined ? {} : { nodeOptions: { ca: readFile("ca_file", caFile) } };
    const transport = createConnectTransport({
      baseUrl: url,
      httpVersion: "1.1",
      ...tls,
      defaultTimeoutMs: timeout,
      interceptors: [this.#cookieJar()],
    });
    this.#client = createClient(SignInService, transport);
  }

  begin(tenantId: string | undefined) {
    const request = tenantId === undefined ? {} : { tenantId };
    return this.#run("BeginDeviceSignIn", (options) => this.#client.beginDeviceSignIn(request, options));
  }

  /** The person, or the seconds to wait before the next call. */
  async end(): Promise<WhoAmIResponse | number> {
    const { result } = await this.#run("EndDeviceSignIn", (options) => this.#client.endDeviceSignIn({}, options));
    return result.case === "signedIn" ? result.value : Number(result.value);
  }

  whoAmI(): Promise<WhoAmIResponse> {
    return this.#run("WhoAmI", (options) => this.#client.whoAmI({}, options));
  }

  async signOut(): Promise<void> {
    await this.#run("SignOut", (options) => this.#client.signOut({}, options));
  }

  /** The cookie of the sign-in that has begun, as `name=value`. */
  get cookie(): string | undefined {
    const found = [...this.#cookies].find(([name]) => name.includes("cloakroom-sign-in"));
    return found?.join("=");
  }

  #cookieJar(): Interceptor {
    return (next) => async (request) => {
      for (const [name, value] of Object.entries(OWN_PAGE_HEADERS)) request.header.set(name, value);
      request.header.set("user-agent", `cloakroom-cli/1 (${SYSTEMS[process.platform] ?? process.platform})`);
      if (this.#cookies.size > 0) {
        request.header.set("cookie", [...this.#cookies].map((pair) => pair.join("=")).join("; "));
      }
      const response = await next(request);
      for (const line of response.header.getSetCookie()) this.#keep(line);
      return response;
    };
  }

  #keep(line: string): void {
    const [, name = "", value = ""] = /^([^=;]+)=([^;]*)/.exec(line) ?? [];
    this.#cookies.set(name, value);
  }

  async #run<T>(method: string, send: (options: { readonly signal: AbortSignal }) => Promise<T>): Promise<T> {
    try {
      return await send({ signal: this.#signal });
    } catch (error) {
      this.#signal.throwIfAborted();
      throw asClientError(ConnectError.from(error), method);
    }
  }
}

/** As the vault names them for the sign-ins of a person. */
const SYSTEMS: Readonly<Record<string, string>> = { linux: "Linux", darwin: "Mac OS X", win32: "Windows" };

/** The error as all other commands report it. */
function asClientError(error: ConnectError, method: string): CloakroomError {
  const [info] = error.findDetails(ErrorInfoSchema);
  const code = clientErrorCode(info?.reason, error.code);
  const message = info ? error.rawMessage : "The vault cannot be reached, or something else responds at this address.";
  return new CloakroomError({ code, message, traceId: info?.metadata.trace_id, cause: error }, { method, attempts: 1 });
}

function clientErrorCode(reason: string | undefined, code: Code) {
  switch (reason) {
    case "unauthenticated":
    case "permission_denied":
    case "not_found":
    case "rate_limited":
    case "validation_failed":
    case "unprocessable":
    case "unavailable":
      return reason;
    case undefined:
      return code === Code.DeadlineExceeded ? "timeout" : "connection_failed";
    default:
      return "internal";
  }
}
