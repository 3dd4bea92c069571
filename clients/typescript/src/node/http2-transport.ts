import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { Envelopes } from "../envelopes.js";
import { AttemptError, closedClient, invalidInput } from "../errors.js";
import type { TlsOptions } from "../options.js";
import { foreignResponse } from "../response-errors.js";
import { type Attempt, type AttemptResponse, PACKAGE } from "../transport.js";
import type { ClosableTransport } from "./closable-calls.js";
import { decodeMessage, encodeMessage } from "./codecs.js";
import { Connection } from "./connection.js";
import { codeOf, lostCall } from "./connection-errors.js";
import { frame, messageIn, PREFIX_BYTES, statusError } from "./grpc-wire.js";
import { checkHeaderNames } from "./header-names.js";
import { Slots } from "./slots.js";

/** Further calls wait in the client; more streams would only wait in the server. */
const MAX_STREAMS = 100;
const MAX_TIMEOUT_MS = 1e8;
const OWN_HEADERS = /^(:|te$|content-type$|grpc-)/;
const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = constants;

/** Calls over gRPC on one HTTP/2 connection. */
export class Http2Transport implements ClosableTransport {
  readonly #connection: Connection;
  readonly #slots = new Slots(MAX_STREAMS);
  /** Streams that have no end of their own. */
  readonly #open = new Set<ClientHttp2Stream>();
  readonly #prefix: string;
  readonly #userAgent: string;
  #takesStreams = true;

  constructor(baseUrl: URL, tls: TlsOptions, userAgent: string) {
    this.#connection = new Connection(baseUrl, tls, (streams) => {
      this.#slots.limit = Math.min(streams, MAX_STREAMS);
    });
    this.#prefix = `${baseUrl.pathname.replace(/\/+$/, "")}/${PACKAGE}.`;
    this.#userAgent = userAgent;
  }

  async send(attempt: Attempt): Promise<AttemptResponse> {
    checkHeaderNames(attempt.headers);
    const body = frame(encodeMessage(attempt.method, attempt.message, PREFIX_BYTES));
    if (attempt.end.ended) throw ended();
    if (!this.#slots.tryTake() && !(await this.#slots.take(attempt.end))) throw ended();
    try {
      // Most calls find a connection. They skip a turn of the event loop.
      const session = this.#connection.ready ?? (await this.#connected(attempt));
      return await this.#receive(this.#request(session, attempt, body), attempt);
    } finally {
      this.#leaveSlot();
    }
  }

  async *open(attempt: Attempt): AsyncGenerator<unknown, void> {
    checkHeaderNames(attempt.headers);
    const body = frame(encodeMessage(attempt.method, attempt.message, PREFIX_BYTES));
    if (!this.#takesStreams) throw closedClient();
    if (!this.#slots.tryTake() && !(await this.#slots.take(attempt.end))) throw ended();
    let stream: ClientHttp2Stream | undefined;
    const cancel = () => stream?.close(NGHTTP2_CANCEL);
    const off = attempt.end.onEnd(cancel);
    try {
      const session = this.#connection.ready ?? (await this.#connected(attempt));
      stream = this.#request(session, attempt, body);
      this.#open.add(stream);
      yield* messagesOf(stream, attempt.method, () => this.#connection.noteActivity());
    } catch (error) {
      throw this.#takesStreams ? error : closedClient();
    } finally {
      off();
      // Without a reset the server would keep its part open until it fails to write.
      cancel();
      if (stream) this.#open.delete(stream);
      this.#leaveSlot();
    }
  }

  endStreams(): void {
    this.#takesStreams = false;
    // A stream may be held by a reader that takes no message. It is not waited for.
    for (const stream of this.#open) stream.close(NGHTTP2_CANCEL);
  }

  close(): void {
    this.#connection.destroy();
  }

  #connected({ end }: Attempt): Promise<ClientHttp2Session> {
    this.#connection.hold(true);
    return end.orEnd(this.#connection.session());
  }

  /** @throws {AttemptError} for a connection that takes no more streams. */
  #request(session: ClientHttp2Session, attempt: Attempt, body: Buffer): ClientHttp2Stream {
    this.#connection.hold(true);
    const headers = this.#headers(attempt);
    try {
      const stream = session.request(headers);
      stream.end(body);
      return stream;
    } catch (error) {
      throw lostCall(error, true);
    }
  }

  #leaveSlot(): void {
    this.#slots.free();
    if (this.#slots.isIdle) this.#connection.hold(false);
  }

  #headers({ method, headers, timeoutMs }: Attempt): Record<string, string> {
    const sent: Record<string, string> = { ":method": "POST", ":path": this.#prefix + method };
    sent["user-agent"] = this.#userAgent;
    for (const name in headers) {
      if (OWN_HEADERS.test(name)) throw invalidInput(name, "is a header that the client sets itself");
      sent[name] = headers[name] ?? "";
    }
    sent["content-type"] = "application/grpc+proto";
    sent.te = "trailers";
    // The header has at most eight digits. Servers shorten long deadlines anyway.
    if (timeoutMs < MAX_TIMEOUT_MS) sent["grpc-timeout"] = `${timeoutMs}m`;
    return sent;
  }

  #receive(stream: ClientHttp2Stream, attempt: Attempt): Promise<AttemptResponse> {
    return new Promise((resolve, reject) => {
      const sentAt = performance.now();
      const chunks: Buffer[] = [];
      let headers: IncomingHttpHeaders = {};
      let trailers: IncomingHttpHeaders = {};
      let failure: unknown;
      const cancel = () => {
        stream.close(NGHTTP2_CANCEL);
        // A connection that died silently closes no stream.
        this.#connection.verifyIfSilent(sentAt);
        reject(ended());
      };
      const off = attempt.end.onEnd(cancel);
      stream.on("response", (received) => {
        this.#connection.noteActivity();
        headers = received;
      });
      stream.on("trailers", (received) => {
        trailers = received;
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", (error) => {
        failure = error;
      });
      stream.on("close", () => {
        off();
        try {
          const received: Record<string, string> = {};
          addTexts(received, headers);
          addTexts(received, trailers);
          resolve({ message: read(stream, attempt.method, received, chunks, failure), headers: received });
        } catch (error) {
          reject(error);
        }
      });
    });
  }
}

/** The messages of a stream, read no faster than they are taken. @throws {AttemptError} as it ended. */
async function* messagesOf(
  stream: ClientHttp2Stream,
  method: string,
  noteActivity: () => void,
): AsyncGenerator<unknown, void> {
  const received: Record<string, string> = {};
  stream.on("response", (headers) => addTexts(received, headers));
  stream.on("trailers", (trailers) => addTexts(received, trailers));
  const envelopes = new Envelopes();
  let failure: unknown;
  try {
    const chunks: AsyncIterable<Buffer> = stream;
    for await (const chunk of chunks) {
      noteActivity();
      for (const { content } of envelopes.read(chunk)) yield decodeMessage(method, content);
    }
  } catch (error) {
    failure = error;
  }
  if (failure instanceof AttemptError) throw failure;
  throwUnlessGood(stream, received, failure);
}

/** The message of a stream that has ended. @throws {AttemptError} as the server or the connection ended it. */
function read(
  stream: ClientHttp2Stream,
  method: string,
  headers: Readonly<Record<string, string>>,
  chunks: readonly Buffer[],
  failure: unknown,
): unknown {
  throwUnlessGood(stream, headers, failure);
  const [only] = chunks;
  const message = messageIn(only && chunks.length === 1 ? only : Buffer.concat(chunks));
  if (!message) throw new AttemptError({ code: "bad_answer", message: "The server responded without a message." });
  return decodeMessage(method, message);
}

/** @throws {AttemptError} for a stream that the server or the connection ended with another status than ok. */
function throwUnlessGood(stream: ClientHttp2Stream, headers: Readonly<Record<string, string>>, failure: unknown): void {
  const { ":status": httpStatus, "content-type": type = "", "grpc-status": status } = headers;
  if (httpStatus === undefined)
    throw lostCall(failure, stream.rstCode === NGHTTP2_REFUSED_STREAM || codeOf(failure) === GOAWAY);
  if (httpStatus !== "200" || !type.startsWith("application/grpc"))
    throw foreignResponse(Number(httpStatus), type, headers);
  // A received status counts, however the stream ended. A response whose status a proxy lost is not a success.
  if (status === undefined) throw lostCall(failure, false);
  const refused = statusError(status, headers);
  if (refused) throw refused;
}

const GOAWAY = "ERR_HTTP2_GOAWAY_SESSION";

function addTexts(texts: Record<string, string>, headers: IncomingHttpHeaders): void {
  // They have no prototype.
  for (const name in headers) texts[name] = String(headers[name]);
}

/** Placeholder: the caller's error names the timeout or the cancellation. */
function ended(): AttemptError {
  return new AttemptError({ code: "canceled", message: "The call has ended." });
}
