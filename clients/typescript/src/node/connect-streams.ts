import { ConnectTransport, lost, parse, readError } from "../connect-transport.js";
import { Envelopes } from "../envelopes.js";
import { AttemptError, closedClient } from "../errors.js";
import { foreignResponse, refusal } from "../response-errors.js";
import { isFields } from "../shape.js";
import { type Attempt, type AttemptResponse, PACKAGE } from "../transport.js";
import type { ClosableTransport } from "./closable-calls.js";
import { checkHeaderNames } from "./header-names.js";

/** Set in the last envelope of a stream, which has the status. */
const END = 2;

/** Calls over Connect, with streams: the thin entry has none. */
export class StreamingConnectTransport extends ConnectTransport implements ClosableTransport {
  readonly #address: string;
  readonly #fetch: typeof fetch;
  readonly #calls = new Set<AbortController>();
  readonly #streams = new Set<AbortController>();
  #takesStreams = true;
  #isClosed = false;

  constructor(baseUrl: URL, fetcher: typeof fetch) {
    super(baseUrl, fetcher);
    this.#address = `${baseUrl.href.replace(/\/+$/, "")}/${PACKAGE}.`;
    this.#fetch = fetcher;
  }

  override async send(attempt: Attempt): Promise<AttemptResponse> {
    if (this.#isClosed) throw closedClient();
    checkHeaderNames(attempt.headers);
    const controller = new AbortController();
    const off = attempt.end.onEnd(() => controller.abort());
    this.#calls.add(controller);
    try {
      return await super.send(attempt, controller.signal);
    } finally {
      off();
      this.#calls.delete(controller);
    }
  }

  async *open({ method, message, headers, end }: Attempt): AsyncGenerator<unknown, void> {
    if (!this.#takesStreams) throw closedClient();
    checkHeaderNames(headers);
    const sent = { ...headers, "content-type": "application/connect+json", "connect-protocol-version": "1" };
    const controller = new AbortController();
    const off = end.onEnd(() => controller.abort());
    this.#streams.add(controller);
    try {
      const body = enveloped(JSON.stringify(message));
      const { signal } = controller;
      const request = { method: "POST", headers: sent, body, signal, redirect: "error" } as const;
      const response = await this.#fetch(`${this.#address}${method}`, request);
      const received = Object.fromEntries(response.headers);
      const type = received["content-type"] ?? "";
      if (!response.ok || !type.startsWith("application/connect+json") || !response.body) {
        throw foreignResponse(response.status, type, received);
      }
      yield* messagesIn(response.body, received);
    } catch (error) {
      if (!this.#takesStreams) throw closedClient();
      throw lost(error);
    } finally {
      off();
      this.#streams.delete(controller);
      controller.abort();
    }
  }

  endStreams(): void {
    this.#takesStreams = false;
    for (const controller of this.#streams) controller.abort();
  }

  close(): void {
    this.#isClosed = true;
    for (const controller of this.#calls) controller.abort();
  }
}

async function* messagesIn(
  body: ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>>,
): AsyncGenerator<unknown, void> {
  const envelopes = new Envelopes();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    // The status comes last: without one the connection was cut.
    if (done) throw lost(undefined);
    for (const { flags, content } of envelopes.read(value)) {
      const message = parse(new TextDecoder().decode(content));
      if (message === undefined) throw new AttemptError({ code: "bad_answer", message: "The stream is not JSON." });
      if ((flags & END) === 0) yield message;
      else if (isFields(message) && isFields(message.error)) throw refusal({ ...readError(message.error), headers });
      else return;
    }
  }
}

function enveloped(text: string): Uint8Array<ArrayBuffer> {
  const content = new TextEncoder().encode(text);
  const bytes = new Uint8Array(5 + content.length);
  new DataView(bytes.buffer).setUint32(1, content.length);
  bytes.set(content, 5);
  return bytes;
}
