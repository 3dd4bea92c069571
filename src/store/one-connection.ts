import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type ConnectOptions, connect, type DatabaseAddress, type Sql, tlsOf } from "./connect.js";
import { openSocket } from "./open-socket.js";
import { ConnectionLost, ConnectTimeout } from "./wire/server-error.js";

/** A client with one connection, which is not replaced when it is lost: whatever waits then fails, and so does all else. */
export interface OneConnection {
  readonly sql: Sql;
  readonly isLost: boolean;
  /** Why no connection came about, where that is so. The client itself says only that it was ended. */
  readonly cause: unknown;
  /** Ends it at once, whatever is under way. */
  drop(): void;
  /** Lets what is under way end, for that many seconds. */
  end(seconds: number): Promise<void>;
  /**
   * Takes the session away from the client once it is logged in and idle: the client hears nothing of it any more.
   * Undefined where the connection is lost.
   */
  takeSocket(): Socket | undefined;
}

/** Where the client wants a socket to: its hosts in the order of the address, or a unix socket. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false;
}

/**
 * By itself the client connects again and sends what was still waiting there: the rest of a transaction would run outside
 * of one. It also may not write to its second connection ever (3.4.9, when it had something to write as the first closed),
 * or hold a connection that nobody knows of (when it is ended while it connects). So it is given sockets until one is lost.
 */
export function connectOnce(address: DatabaseAddress, options: Omit<ConnectOptions, "connections">): OneConnection {
  const { mode, negotiation } = tlsOf(address);
  const opening = new AbortController();
  let socket: Socket | undefined;
  let attempts = 0;
  let isLost = false;
  let cause: unknown;
  let ended: Promise<void> | undefined;
  const drop = (): Promise<void> => {
    isLost = true;
    opening.abort(new ConnectionLost());
    // Were an answer to arrive before the client has ended, what waits behind it would neither be sent nor fail.
    socket?.pause();
    // The client leaves its socket open where nobody answers.
    ended ??= sql
      .end({ timeout: 0 })
      .catch(() => {})
      .then(() => {
        socket?.destroy();
      });
    return ended;
  };
  const nextSocket = async ({ host, port, path }: Target): Promise<Socket> => {
    while (!isLost && attempts < host.length) {
      const place = path ? { path } : { host: host[attempts] ?? "localhost", port: port[attempts] ?? 5432 };
      attempts += 1;
      try {
        socket = await within(1_000 * (options.connectTimeout ?? 10), opening.signal, (signal) =>
          openSocket(place, mode, negotiation, signal),
        );
        return socket;
      } catch (error) {
        cause = error;
      }
    }
    // Ending the client fails all that waits. Throwing here would fail the first only, and leave the others waiting.
    void drop();
    return new Promise(() => {});
  };
  const sql = connect(address, { ...options, connections: 1, openSocket: nextSocket, onClose: () => void drop() });
  return {
    sql,
    get isLost() {
      return isLost;
    },
    get cause() {
      return cause;
    },
    drop: () => void drop(),
    async end(seconds) {
      // The client itself would wait for less, and forget what it has taken and not sent yet: nobody would hear of that again.
      if (socket && !isLost) await lastAnswer(sql, seconds);
      await drop();
    },
    takeSocket() {
      if (isLost || !socket) return undefined;
      return socket.removeAllListeners("data").removeAllListeners("drain");
    },
  };
}

/** Waits until everything sent before is answered, for so many seconds at most. */
async function lastAnswer(sql: Sql, seconds: number): Promise<void> {
  const tooLate = new AbortController();
  const answer = sql.unsafe("select 1").catch(() => {});
  await Promise.race([answer, pause(seconds * 1_000, undefined, tooLate).catch(() => {})]);
  tooLate.abort();
}

/** Aborts an attempt to connect after `timeoutMs`. */
async function within(
  timeoutMs: number,
  signal: AbortSignal,
  open: (signal: AbortSignal) => Promise<Socket>,
): Promise<Socket> {
  const late = new AbortController();
  const timeout = setTimeout(() => late.abort(new ConnectTimeout()), timeoutMs);
  try {
    return await open(AbortSignal.any([signal, late.signal]));
  } finally {
    clearTimeout(timeout);
  }
}
