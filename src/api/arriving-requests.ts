import { constants, type ServerHttp2Stream } from "node:http2";

/**
 * Requests over HTTP/2 that are not all there. Over HTTP/1.1 Node bounds the time that a request takes to arrive, and a
 * connection whose request was refused unread is closed. A stream that its client leaves open would be kept, with up to a
 * window of bytes that nobody reads, for as long as its connection lives.
 */
export class ArrivingRequests {
  readonly #since = new Map<ServerHttp2Stream, number>();
  readonly #mostMs: number;

  /** @param mostMs for a whole request to arrive, if it is not answered before. */
  constructor(mostMs: number) {
    this.#mostMs = mostMs;
  }

  add(stream: ServerHttp2Stream): void {
    if (stream.endAfterHeaders) return;
    this.#since.set(stream, performance.now());
    stream.once("close", () => this.#since.delete(stream));
  }

  /** Ends the streams whose answer is all sent, or whose request takes too long. To be called every few seconds. */
  endOverdue(): void {
    const now = performance.now();
    for (const [stream, since] of this.#since) {
      const { localClose, remoteClose } = stream.state;
      if (remoteClose) continue;
      // RFC 9113, 8.1: this asks a client that was answered to stop sending, and takes nothing of the answer.
      if (localClose) stream.close(constants.NGHTTP2_NO_ERROR);
      else if (!stream.headersSent && now - since > this.#mostMs) stream.close(constants.NGHTTP2_CANCEL);
    }
  }
}
