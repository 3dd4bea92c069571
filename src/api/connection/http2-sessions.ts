import { constants, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { ConnectionLimits } from "./connection-limits.js";

/** RFC 9113, 6.8: names no last stream, so requests already sent are still answered. */
const NO_LAST_STREAM = 2 ** 31 - 1;

/** Milliseconds for which a client may still send requests after GOAWAY: more than a round trip. */
const FAREWELL_MS = 1_000;

export class Http2Sessions {
  readonly #sessions = new Set<ServerHttp2Session>();
  #isClosing = false;

  constructor(server: Http2Server, { idleTimeout, stalledTimeout }: ConnectionLimits) {
    server.on("session", (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.setTimeout(idleTimeout, () => {
        session.close();
        // Open streams may finish, as long as data moves on any of them.
        session.setTimeout(stalledTimeout, () => session.destroy());
      });
      session.on("error", () => session.destroy());
      session.once("close", () => this.#sessions.delete(session));
      if (this.#isClosing) sendAway(session);
    });
    server.on("sessionError", () => {});
  }

  /** Sends GOAWAY. Open streams, and those already sent, are served to their end. */
  goAway(): void {
    this.#isClosing = true;
    for (const session of this.#sessions) sendAway(session);
  }

  destroy(): void {
    for (const session of this.#sessions) session.destroy();
  }
}

function sendAway(session: ServerHttp2Session): void {
  if (session.destroyed || session.closed) return;
  session.goaway(constants.NGHTTP2_NO_ERROR, NO_LAST_STREAM);
  const timer = setTimeout(() => {
    if (!session.destroyed) session.close();
  }, FAREWELL_MS);
  session.once("close", () => clearTimeout(timer));
}
