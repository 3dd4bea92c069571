import { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type ConnectOptions, connect, type DatabaseAddress, type Sql } from "./connect.js";

/** A client with one connection, which is not replaced when it is lost: whatever waits then fails, and so does all else. */
export interface OneConnection {
  readonly sql: Sql;
  readonly isLost: boolean;
  /** Ends it at once, whatever is under way. */
  drop(): void;
  /** Lets what is under way end, for that many seconds. */
  end(seconds: number): Promise<void>;
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
  let socket: Socket | undefined;
  let attempts = 0;
  let isLost = false;
  let ended: Promise<void> | undefined;
  const drop = (): Promise<void> => {
    isLost = true;
    // Were an answer to arrive before the client has ended, what waits behind it would neither be sent nor fail.
    socket?.pause();
    // The client leaves its socket open where that is still connecting, or nobody answers.
    ended ??= sql
      .end({ timeout: 0 })
      .catch(() => {})
      .then(() => {
        socket?.destroy();
      });
    return ended;
  };
  const openSocket = ({ host, port, path }: Target): Socket | Promise<never> => {
    if (isLost || attempts >= host.length) {
      // Ending the client fails all that waits. Throwing here would fail the first only, and leave the others waiting.
      void drop();
      return new Promise(() => {});
    }
    const at = attempts;
    attempts += 1;
    if (path) {
      socket = connecting(new Socket(), (opened) => opened.connect(path));
    } else {
      const place = { host: host[at] ?? "localhost", port: port[at] ?? 5432 };
      // The client looks for the name of the certificate and for its messages here.
      socket = Object.assign(
        connecting(new Socket({ noDelay: true }), (opened) => opened.connect(place)),
        place,
      );
    }
    return socket;
  };
  const sql = connect(address, { ...options, connections: 1, openSocket, onClose: () => void drop() });
  return {
    sql,
    get isLost() {
      return isLost;
    },
    drop: () => void drop(),
    async end(seconds) {
      // The client itself would wait for less, and forget what it has taken and not sent yet: nobody would hear of that again.
      if (socket && !isLost) {
        const tooLate = new AbortController();
        const lastAnswer = sql.unsafe("select 1").catch(() => {});
        await Promise.race([lastAnswer, pause(seconds * 1_000, undefined, tooLate).catch(() => {})]);
        tooLate.abort();
      }
      await drop();
    },
  };
}

/**
 * Connects once the client listens, which is some microtasks later: an error that comes at once (no route to an address, no
 * descriptor left) would be nobody's, and end the process.
 */
function connecting(socket: Socket, connect: (socket: Socket) => void): Socket {
  queueMicrotask(() => {
    if (!socket.destroyed) connect(socket);
  });
  return socket;
}
