import { createConnection, type Socket } from "node:net";
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
  const drop = () => {
    isLost = true;
    // The client leaves its socket open where that is still connecting, or nobody answers.
    sql.end({ timeout: 0 }).then(
      () => socket?.destroy(),
      () => socket?.destroy(),
    );
  };
  const openSocket = ({ host, port, path }: Target): Socket | Promise<never> => {
    if (isLost || attempts >= host.length) {
      // Ending the client fails all that waits. Throwing here would fail the first only, and leave the others waiting.
      drop();
      return new Promise(() => {});
    }
    const at = attempts;
    attempts += 1;
    if (path) {
      socket = createConnection(path);
    } else {
      const place = { host: host[at] ?? "localhost", port: port[at] ?? 5432 };
      // The client looks for the name of the certificate and for its messages here.
      socket = Object.assign(createConnection({ ...place, noDelay: true }), place);
    }
    return socket;
  };
  const sql = connect(address, { ...options, connections: 1, openSocket, onClose: drop });
  return {
    sql,
    get isLost() {
      return isLost;
    },
    drop,
    async end(seconds) {
      isLost = true;
      await sql.end({ timeout: seconds });
      socket?.destroy();
    },
  };
}
