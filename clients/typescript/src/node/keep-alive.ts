import type { ClientHttp2Session } from "node:http2";

/** Below the minute or so after which translators of addresses forget a silent connection. */
export const PING_INTERVAL_MS = 30_000;
const TIMEOUT_MS = 5_000;
/** RFC 9113, 7: ENHANCE_YOUR_CALM. Servers that count PINGs say so in a GOAWAY. */
const ENHANCE_YOUR_CALM = 11;

/** Notices a connection that died silently, by PINGs, also while it is idle. It keeps no program running. */
export class KeepAlive {
  readonly #session: ClientHttp2Session;
  readonly #timer: ReturnType<typeof setInterval>;
  #isAsking = false;
  #activeAt = performance.now();

  /** @param onTooMany the server asks for fewer PINGs. */
  constructor(session: ClientHttp2Session, intervalMs: number, onTooMany: () => void) {
    this.#session = session;
    this.#timer = setInterval(() => this.verify(), intervalMs);
    this.#timer.unref();
    session.once("close", () => clearInterval(this.#timer));
    session.once("goaway", (code) => {
      if (code === ENHANCE_YOUR_CALM) onTooMany();
    });
  }

  /** The server has sent something. */
  noteActivity(): void {
    this.#activeAt = performance.now();
  }

  /** Whether nothing has arrived since then, a time of `performance.now()`. */
  isSilentSince(time: number): boolean {
    return this.#activeAt < time;
  }

  /** Sends a PING, and ends the connection if nothing answers it. */
  verify(): void {
    if (this.#isAsking || this.#session.destroyed) return;
    this.#isAsking = true;
    const timer = setTimeout(() => {
      this.#session.destroy(Object.assign(new Error("PING timed out"), { code: "ETIMEDOUT" }));
    }, TIMEOUT_MS);
    timer.unref();
    const settle = () => {
      this.#isAsking = false;
      clearTimeout(timer);
    };
    this.#session.once("close", settle);
    try {
      this.#session.ping(() => {
        this.noteActivity();
        settle();
        this.#session.off("close", settle);
      });
    } catch {
      // The session ended between the check and the PING; its close event settles.
    }
  }
}
