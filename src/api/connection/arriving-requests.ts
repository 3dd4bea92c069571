import { constants, type ServerHttp2Stream } from "node:http2";

/**
 * Incomplete requests over HTTP/2. Over HTTP/1.1 Node bounds the time that a request takes to arrive, and a connection
 * whose request was refused unread is closed. Without this, a stream that its client leaves open would be kept, with up
 * to a window of unread bytes, for as long as its connection lives.
 */
export class ArrivingRequests {
  readonly #since = new Map<ServerHttp2Stream, number>();
  readonly #maxMs: number;

  /** @param maxMs time limit for a whole request to arrive, unless it is answered before. */
  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  add(stream: ServerHttp2Stream): void {
    if (stream.endAfterHeaders) return;
    this.#since.set(stream, performance.now());
    stream.once("close", () => this.#since.delete(stream));
  }

  /** Ends streams whose response is complete, or whose request takes too long. Call it every few seconds. */
  endOverdue(): void {
    const now = performance.now();
    for (const [stream, since] of this.#since) {
      const { localClose, remoteClose } = stream.state;
      if (remoteClose) continue;
      // RFC 9113, 8.1: asks a client that was answered to stop sending, without affecting the response.
      if (localClose) stream.close(constants.NGHTTP2_NO_ERROR);
      else if (!stream.headersSent && now - since > this.#maxMs) stream.close(constants.NGHTTP2_CANCEL);
    }
  }
}
