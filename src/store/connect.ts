import type { Socket } from "node:net";
import postgres from "postgres";
import { readArrayText, toArrayText } from "./array-text.js";
import type { TlsMode } from "./open-socket.js";

/** Where a database is and who we are there: a `postgres://` URL, or the parts of a local one. */
export type DatabaseAddress =
  | { readonly url: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly database: string;
      readonly username: string;
      readonly password: string;
    };

/** The roles that statements run as. Neither may log in on plain PostgreSQL, and neither bypasses row-level security. */
export type DatabaseRole = "cloakroom_app" | "cloakroom_jobs";

/** What the database calls our connections. */
export const APPLICATION_NAME = "cloakroom";

export interface ConnectOptions {
  /** Absent: the login role itself, for migrations and doctor. */
  readonly role?: DatabaseRole;
  readonly connections: number;
  /** Milliseconds after which the database gives a statement up. 0: never. */
  readonly statementTimeout: number;
  readonly connectTimeout?: number;
  /**
   * Rows are read in the order of an index, and joins are merges of two such walks. Without statistics PostgreSQL would
   * compare each of one with all of the other, where two terms of 60,000 tokens took longer than a statement may, or sort
   * 60,000 log rows to find the 100 oldest.
   */
  readonly walksIndexes?: boolean;
  /** Makes the client's sockets in its place, connected and encrypted as the address says. */
  readonly openSocket?: (target: {
    readonly host: readonly string[];
    readonly port: readonly number[];
    readonly path: string | false;
  }) => Socket | Promise<Socket>;
  /** Told when a connection is closed, before the client makes another. */
  readonly onClose?: () => void;
}

export type Sql = postgres.Sql<{ bigint: number; date: Date; array: string[] }>;

/** bigint columns hold counts and revisions, which stay below 2^53. */
const bigintAsNumber: postgres.PostgresType<number> = {
  to: 20,
  from: [20],
  serialize: (value: number) => String(value),
  parse: (text: string) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new Error("a bigint column holds more than 2^53");
    return value;
  },
};

/**
 * Times as the client sends them by itself, but for one thing: serializing must not throw. The client would have counted
 * the statement as sent, and every later answer on the connection would be taken for that of the statement before.
 * PostgreSQL refuses the text in place of a time that is none.
 */
const date: postgres.PostgresType<Date> = {
  to: 1184,
  from: [1082, 1114, 1184],
  serialize: (value: Date | string | number) => {
    const time = new Date(value);
    return Number.isNaN(time.getTime()) ? "no time" : time.toISOString();
  },
  parse: (text: string) => new Date(text),
};

/**
 * Arrays of names, texts, dates and UUIDs: all that our statements have. By itself the client asks each new connection for the types
 * of arrays first, and where that fails, since the connection is lost by then or a pooler finds no database behind it, the
 * failure is nobody's and ends the process (3.4.9).
 */
const array: postgres.PostgresType<string[]> = {
  to: 1009,
  from: [1003, 1009, 1182, 2951],
  serialize: (value: readonly string[] | string) => (typeof value === "string" ? value : toArrayText(value)),
  parse: readArrayText,
};

/**
 * A client with that many connections, none of which is opened before its first query. Connections live until they
 * break: a client that renews them by age could do so between the statements of a transaction.
 */
export function connect(address: DatabaseAddress, options: ConnectOptions): Sql {
  const shared = {
    max: options.connections,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: options.connectTimeout ?? 10,
    types: { bigint: bigintAsNumber, date, array },
    onnotice: () => {},
    // Whoever makes the sockets expects to lose connections. Other clients read arrays of more types, before they serve.
    ...(options.openSocket ? { socket: options.openSocket, fetch_types: false, ssl: false } : {}),
    ...(options.onClose ? { onclose: options.onClose } : {}),
    connection: {
      application_name: APPLICATION_NAME,
      ...(options.role ? { role: options.role } : {}),
      statement_timeout: options.statementTimeout,
      // Two requests with one idempotency key wait for each other this long, then the second is told so.
      lock_timeout: 2_000,
      idle_in_transaction_session_timeout: 10_000,
      // A generic plan takes any time for a third of the rows, and would read a million tokens to find that none has expired.
      enable_seqscan: "off",
      ...(options.walksIndexes ? { enable_nestloop: "off", enable_hashjoin: "off", enable_bitmapscan: "off" } : {}),
      jit: "off",
      // Citus sends `set local` on to its workers only with this; plain PostgreSQL takes it for an unknown setting.
      "citus.propagate_set_commands": "local",
    },
  };
  return "url" in address ? postgres(address.url, shared) : postgres({ ...address, ...shared });
}

/** How connections to an address are encrypted, as the client reads its `sslmode`. */
export function tlsOf(address: DatabaseAddress): {
  readonly mode: TlsMode;
  readonly negotiation: "direct" | undefined;
} {
  // A client that is asked nothing opens no connection.
  const { options } = "url" in address ? postgres(address.url) : postgres({ ...address });
  const negotiation = Reflect.get(options, "sslnegotiation") === "direct" ? "direct" : undefined;
  return { mode: options.ssl, negotiation };
}
