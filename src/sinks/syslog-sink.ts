import { connect as connectPlain, type Socket } from "node:net";
import { hostname } from "node:os";
import { connect as connectTls } from "node:tls";
import { type LogSink, SinkFailed, type SinkRecord, sinkFailure } from "./sink.js";
import { syslogFrame, syslogHost } from "./syslog-message.js";

export interface SyslogSinkOptions {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** Certificates to trust in place of the system's, in PEM. */
  readonly ca: string | undefined;
}

const TIMEOUT_MS = 10_000;
/** How long shutdown waits for the receiver. */
const CLOSING_MS = 1_000;
/**
 * Syslog over TCP has no acknowledgement: of 480,067 messages that a socket took, rsyslog had written 383,192 when it
 * was killed. After a lost connection, records are sent again from this long before. Time alone proves nothing: a socket
 * takes records for a quarter of an hour after the receiver's machine is gone, and for days from one that does not read.
 */
const UNSURE_MS = 60_000;

/** RFC 5424 over TCP or TLS, at least once up to the receiver's socket. */
export class SyslogSink implements LogSink {
  readonly name = "syslog";
  readonly unsureForMs = UNSURE_MS;
  readonly #options: SyslogSinkOptions;
  readonly #host = syslogHost(hostname());
  #socket: Socket | undefined;
  #isLost = false;

  constructor(options: SyslogSinkOptions) {
    this.#options = options;
  }

  async send(records: readonly SinkRecord[], signal: AbortSignal): Promise<void> {
    try {
      this.#socket ??= await this.#connect(signal);
      const socket = this.#socket;
      await within(socket, signal, (done) => {
        socket.write(Buffer.concat(records.map((record) => syslogFrame(record, this.#host))), done);
      });
      if (this.#socket !== socket) throw new SinkFailed("the syslog server has closed the connection");
    } catch (error) {
      this.#end();
      throw sinkFailure("the syslog server of CLOAKROOM_AUDIT_SYSLOG does not accept messages", error);
    }
  }

  /** Ends the connection, in favour of another one: a receiver ends its side once it has read to the end. */
  async confirm(signal: AbortSignal): Promise<void> {
    const socket = this.#socket;
    if (!socket) return;
    try {
      this.#socket = await this.#connect(signal);
      if (socket.destroyed) throw new SinkFailed("the syslog server has closed the connection");
      await within(socket, signal, (done) => socket.once("end", () => done()).end());
    } catch (error) {
      this.#end();
      throw sinkFailure("the syslog server of CLOAKROOM_AUDIT_SYSLOG does not confirm messages", error);
    } finally {
      socket.destroy();
    }
  }

  takeLost(): boolean {
    const isLost = this.#isLost;
    this.#isLost = false;
    return isLost;
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    if (!socket) return;
    await within(socket, AbortSignal.timeout(CLOSING_MS), (done) => socket.end(done)).catch(() => {});
    this.#end();
  }

  async #connect(signal: AbortSignal): Promise<Socket> {
    const { host, port, isTls, ca } = this.#options;
    const name = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
    const socket = isTls ? connectTls({ host, port, ...name, ...(ca ? { ca } : {}) }) : connectPlain({ host, port });
    // Receivers send nothing. Reading finds out when they end the connection.
    const lose = () => {
      if (this.#socket === socket) this.#end();
    };
    socket.on("error", lose).on("end", lose).on("close", lose).resume();
    await within(socket, signal, (done) => socket.once(isTls ? "secureConnect" : "connect", () => done()));
    socket.setKeepAlive(true, 30_000);
    return socket;
  }

  #end(): void {
    if (this.#socket) this.#isLost = true;
    this.#socket?.destroy();
    this.#socket = undefined;
  }
}

/** Waits for a step of a socket, and destroys it if it fails or takes too long. */
function within(
  socket: Socket,
  signal: AbortSignal,
  start: (done: (error?: Error | null) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error | null) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      socket.off("error", settle).off("close", closed);
      if (!error) return resolve();
      socket.destroy();
      reject(error);
    };
    const closed = () => settle(new SinkFailed("the syslog server has closed the connection"));
    const stop = () => settle(new SinkFailed("Cloakroom is shutting down"));
    const timer = setTimeout(() => settle(new SinkFailed("the syslog server timed out")), TIMEOUT_MS);
    socket.once("error", settle).once("close", closed);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop);
    start(settle);
  });
}
