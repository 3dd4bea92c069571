import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { pipeline, type Readable } from "node:stream";
import type { Destination } from "./destination.js";
import { EgressError, type FailureReason, systemErrorCode } from "./egress-error.js";
import { isEstablished, readyEvent } from "./guarded-connect.js";
import { type HeaderPair, headerPairs } from "./request-framing.js";
import { ResponseBody } from "./response-body.js";

/**
 * Defaults in milliseconds. They are 5 s below the time of a function and below the default limit of RPC deadlines, which
 * leaves time to report that the destination failed.
 */
const RESPONSE_HEADERS_MS = 25_000;
const BODY_IDLE_MS = 25_000;

export interface ExchangeLimits {
  /** Cancels the call, including the reading of its body. */
  readonly signal?: AbortSignal | undefined;
  readonly timeouts?: {
    /**
     * Milliseconds from the call to the response's headers, including the wait for a connection. Restarts with each chunk
     * of a streamed request body. Default: {@link RESPONSE_HEADERS_MS}.
     */
    readonly headersMs?: number;
    /** Milliseconds between two bytes of the response's body. Default: {@link BODY_IDLE_MS}. */
    readonly bodyIdleMs?: number;
  };
  /** Default: no limit. */
  readonly maxBodyBytes?: number;
}

export interface GuardedResponse {
  readonly status: number;
  readonly statusText: string;
  readonly rawHeaders: readonly HeaderPair[];
  /** Must be read to its end or destroyed. */
  readonly body: Readable;
}

/** Below 2,000, from which on Node drops headers silently. */
const maxResponseHeaders = 500;

export class Exchange {
  readonly #outgoing: ClientRequest;
  readonly #destination: Destination;
  readonly #limits: ExchangeLimits;
  readonly #response = Promise.withResolvers<GuardedResponse>();
  readonly #deadline: NodeJS.Timeout;
  #stage: "connecting" | "securing" | "written" = "connecting";
  #socket: Socket | undefined;
  #body: ResponseBody | undefined;

  constructor(outgoing: ClientRequest, destination: Destination, limits: ExchangeLimits) {
    this.#outgoing = outgoing;
    this.#destination = destination;
    this.#limits = limits;
    this.#deadline = setTimeout(() => this.#fail("headers_timeout"), limits.timeouts?.headersMs ?? RESPONSE_HEADERS_MS);
    limits.signal?.addEventListener("abort", this.#abort);
    outgoing.once("socket", (socket) => this.#follow(socket));
    outgoing.once("response", (message) => this.#receive(message));
    outgoing.on("error", (error) => this.#fail(this.#reasonOf(error), error));
    outgoing.once("close", () => this.#fail("connection_lost"));
  }

  complete(body: Uint8Array | Readable | undefined): Promise<GuardedResponse> {
    if (body === undefined || body instanceof Uint8Array) this.#outgoing.end(body);
    else {
      body.once("error", (error) => this.#fail("request_body_failed", error));
      body.on("data", () => this.#restartDeadline());
      // Both the request and the body report their ends; pipeline destroys each when the other closes.
      pipeline(body, this.#outgoing, () => {});
    }
    return this.#response.promise;
  }

  #follow(socket: Socket): void {
    this.#socket = socket;
    this.#keepSending(socket);
    if (isEstablished(socket)) {
      this.#stage = "written";
      return;
    }
    const written = () => {
      if (isEstablished(socket)) this.#stage = "written";
    };
    if (this.#destination.protocol === "https:") {
      socket.once("connect", () => {
        this.#stage = "securing";
      });
    }
    socket.once(readyEvent(this.#destination), written);
  }

  /**
   * Node's request emits no `drain` after the response is complete. Without this, a request body that is still being
   * sent would stop there, and the caller's next request on the same connection would wait behind it.
   */
  #keepSending(socket: Socket): void {
    const resume = () => {
      if (this.#outgoing.writableNeedDrain) this.#outgoing.emit("drain");
    };
    socket.on("drain", resume);
    this.#outgoing.once("close", () => socket.off("drain", resume));
  }

  #receive(message: IncomingMessage): void {
    const { rawHeaders } = message;
    if (rawHeaders.length / 2 > maxResponseHeaders) {
      this.#fail("response_headers_too_large");
      return;
    }
    clearTimeout(this.#deadline);
    const body = new ResponseBody(message, {
      idleMs: this.#limits.timeouts?.bodyIdleMs ?? BODY_IDLE_MS,
      maxBytes: this.#limits.maxBodyBytes ?? Number.POSITIVE_INFINITY,
    });
    body.once("close", () => this.#release());
    this.#body = body;
    this.#response.resolve({
      status: message.statusCode ?? 0,
      statusText: message.statusMessage ?? "",
      rawHeaders: headerPairs(rawHeaders),
      body,
    });
  }

  /** While the request body is being sent, the destination is not late with its response. */
  #restartDeadline(): void {
    if (this.#body === undefined && this.#stage === "written") this.#deadline.refresh();
  }

  readonly #abort = (): void => this.#fail("aborted");

  /**
   * Keeps the first failure; later ones follow from the teardown. A complete response also ends here, without creating an
   * error: its stack trace took 2 % of a proxied call.
   */
  #fail(reason: FailureReason | EgressError, cause?: unknown): void {
    if (this.#body === undefined) {
      this.#release();
      this.#response.reject(this.#egressError(reason, cause));
      this.#outgoing.destroy();
    } else if (reason === "aborted") {
      this.#body.destroy(this.#egressError(reason, cause));
    }
  }

  #egressError(reason: FailureReason | EgressError, cause: unknown): EgressError {
    if (reason instanceof EgressError) return reason;
    return new EgressError(reason, this.#stage === "written" ? "unknown" : "not_sent", cause);
  }

  #release(): void {
    clearTimeout(this.#deadline);
    this.#limits.signal?.removeEventListener("abort", this.#abort);
  }

  #reasonOf(error: Error): FailureReason | EgressError {
    if (error instanceof EgressError) return error;
    const code = systemErrorCode(error);
    if (code === "HPE_HEADER_OVERFLOW") return "response_headers_too_large";
    if (code?.startsWith("HPE_")) return "malformed_response";
    if (code === "ERR_STREAM_PREMATURE_CLOSE") return "request_body_failed";
    if (this.#stage === "connecting") return "connect_failed";
    if (this.#stage === "written") return "connection_lost";
    // Set by node:tls if the certificate was refused.
    const refused =
      this.#socket !== undefined && "authorizationError" in this.#socket && this.#socket.authorizationError;
    return refused ? "certificate_invalid" : "tls_failed";
  }
}
