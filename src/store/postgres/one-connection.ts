import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { ConnectionLost, ConnectTimeout } from "../wire/server-error.js";
import { type ConnectOptions, connect, connectionTls, type DatabaseAddress, type Sql } from "./connect.js";
import { openSocket } from "./open-socket.js";

/** A client with one connection, which is not replaced when it is lost. All waiting and later queries then fail. */
export interface OneConnection {
  readonly sql: Sql;
  readonly isLost: boolean;
  /** Why no connection was established, if so. The client itself only says that it was ended. */
  readonly cause: unknown;
  drop(): void;
  /** Waits this many seconds for queries in flight, then ends the connection. */
  end(seconds: number): Promise<void>;
  /**
   * Takes the session away from the client, which must be logged in and idle. The client gets no more of its events.
   * Undefined if the connection is lost.
   */
  takeSocket(): Socket | undefined;
}

/** The target of the client's socket: the hosts in the order of the address, or a unix socket. */
type Target = Parameters<NonNullable<ConnectOptions["openSocket"]>>[0];

/**
 * By default the client reconnects and sends its waiting queries there: the rest of a transaction would run outside of
 * it. It also may never write to its second connection (3.4.9, if it had data to write when the first one closed), or
 * leak a connection (if it is ended while it connects). It therefore gets sockets only until one is lost.
 */
export function connectOnce(address: DatabaseAddress, options: Omit<ConnectOptions, "connections">): OneConnection {
  const { mode, negotiation } = connectionTls(address);
  const opening = new AbortController();
  let socket: Socket | undefined;
  let attempts = 0;
  let isLost = false;
  let cause: unknown;
  let ended: Promise<void> | undefined;
  const drop = (): Promise<void> => {
    isLost = true;
    opening.abort(new ConnectionLost());
    // If a response arrived before the client has ended, the waiting queries would be neither sent nor rejected.
    socket?.pause();
    // The client leaves its socket open if the server does not respond.
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
      const address = path ? { path } : { host: host[attempts] ?? "localhost", port: port[attempts] ?? 5432 };
      attempts += 1;
      try {
        socket = await within(1_000 * (options.connectTimeout ?? 10), opening.signal, (signal) =>
          openSocket(address, mode, negotiation, signal),
        );
        return socket;
      } catch (error) {
        cause = error;
      }
    }
    // Ending the client fails all waiting queries. A throw would fail only the first.
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
      // The client itself waits for less, and drops queries that it has accepted but not sent, without a response.
      if (socket && !isLost) await lastResult(sql, seconds);
      await drop();
    },
    takeSocket() {
      if (isLost || !socket) return undefined;
      return socket.removeAllListeners("data").removeAllListeners("drain");
    },
  };
}

/** Waits until everything sent so far is answered, at most this many seconds. */
async function lastResult(sql: Sql, seconds: number): Promise<void> {
  const tooLate = new AbortController();
  const result = sql.unsafe("select 1").catch(() => {});
  await Promise.race([result, pause(seconds * 1_000, undefined, tooLate).catch(() => {})]);
  tooLate.abort();
}

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
