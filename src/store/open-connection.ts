import type { ConnectOptions, DatabaseAddress } from "./connect.js";
import { connectOnce } from "./one-connection.js";
import { Connection } from "./wire/connection.js";
import { ConnectionLost } from "./wire/server-error.js";

/** What answers at the other end. Both speak the same SQL, but for what is asked of {@link Opened.engine}. */
export type Engine = "postgresql" | "citus";

export interface Opened {
  readonly connection: Connection;
  readonly engine: Engine;
}

/** A connection that is being opened. */
export interface Opening {
  readonly opened: Promise<Opened>;
  /** Gives the attempt up, or drops the connection it led to. */
  drop(): void;
}

/**
 * Opens a session: the client library connects and logs in, with all its ways of doing so, and learns which engine answers.
 * Then the session is taken away from it.
 */
export function openConnection(address: DatabaseAddress, options: Omit<ConnectOptions, "connections">): Opening {
  const one = connectOnce(address, options);
  let connection: Connection | undefined;
  const open = async (): Promise<Opened> => {
    try {
      const asked = await one.sql<{ citus: string | null }[]>`select current_setting('citus.version', true) as citus`;
      const socket = one.takeSocket();
      if (!socket) throw new ConnectionLost();
      connection = new Connection({ socket, processId: asked.state.pid });
      // Plain PostgreSQL has no such setting. It may also be empty there, once it was set in a transaction.
      return { connection, engine: asked[0]?.citus ? "citus" : "postgresql" };
    } catch (error) {
      one.drop();
      throw one.cause ?? error;
    }
  };
  return {
    opened: open(),
    drop() {
      connection?.drop();
      if (!connection) one.drop();
    },
  };
}
