import { Connection } from "../wire/connection.js";
import { ConnectionLost } from "../wire/server-error.js";
import type { ConnectOptions, DatabaseAddress } from "./connect.js";
import { connectOnce } from "./one-connection.js";

/** The database engine at the other end. Both speak the same SQL, except where code asks for {@link Opened.engine}. */
export type Engine = "postgresql" | "citus";

export interface Opened {
  readonly connection: Connection;
  readonly engine: Engine;
  /** Whether commits wait for standbys, as the database was set when the session began. */
  readonly hasStandbys: boolean;
}

export interface Opening {
  readonly opened: Promise<Opened>;
  /** Cancels the attempt, or drops the connection that it opened. */
  drop(): void;
}

/**
 * The client library connects, logs in by any of its methods, and detects the engine. Then the session is taken away
 * from it.
 */
export function openPostgresConnection(
  address: DatabaseAddress,
  options: Omit<ConnectOptions, "connections">,
): Opening {
  const one = connectOnce(address, options);
  let connection: Connection | undefined;
  const open = async (): Promise<Opened> => {
    try {
      const asked = await one.sql<{ citus: string | null; hasStandbys: boolean }[]>`
        select current_setting('citus.version', true) as citus,
          current_setting('synchronous_standby_names') <> '' as "hasStandbys"`;
      const socket = one.takeSocket();
      if (!socket) throw new ConnectionLost();
      connection = new Connection({ socket, processId: asked.state.pid });
      // Plain PostgreSQL has no such setting, or an empty one after it was set in a transaction.
      const engine = asked[0]?.citus ? "citus" : "postgresql";
      return { connection, engine, hasStandbys: asked[0]?.hasStandbys ?? false };
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
