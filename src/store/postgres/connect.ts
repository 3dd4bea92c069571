import type { Socket } from "node:net";
import postgres from "postgres";
import { readBuildVersion } from "../../base/build-version.js";
import { readArrayText, toArrayText } from "../wire/array-text.js";
import { UnconfirmedCommit } from "../wire/server-error.js";
import type { TlsMode } from "./open-socket.js";

/** The location of a database and our login: a `postgres://` URL, or the parts of a local address. */
export type DatabaseAddress =
  | { readonly url: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly database: string;
      readonly username: string;
      readonly password: string;
    };

/** The roles that run statements. Neither may log in on plain PostgreSQL, and neither bypasses row-level security. */
export type DatabaseRole = "cloakroom_app" | "cloakroom_jobs";

/** Begins the application names of all our connections, of any version. */
export const APPLICATION_PREFIX = "cloakroom ";
/** The application name of our connections. An upgrade asks which versions are connected. */
export const APPLICATION_NAME = `${APPLICATION_PREFIX}${readBuildVersion().version}`;

export interface ConnectOptions {
  /** Absent: the login role itself, for migrations and doctor. */
  readonly role?: DatabaseRole;
  readonly connections: number;
  /** The database's statement timeout in milliseconds. 0: none. */
  readonly statementTimeout: number;
  readonly connectTimeout?: number;
  /**
   * Makes plans read rows in index order and join by merging two index scans. Without statistics PostgreSQL would
   * compare every pair of rows, which exceeded the statement timeout for two terms of 60,000 tokens, or sort 60,000 log
   * rows to find the 100 oldest.
   */
  readonly walksIndexes?: boolean;
  /** Opens sockets in place of the client, connected and encrypted as the address says. */
  readonly openSocket?: (target: {
    readonly host: readonly string[];
    readonly port: readonly number[];
    readonly path: string | false;
  }) => Socket | Promise<Socket>;
  /** Called when a connection is closed, before the client opens another. */
  readonly onClose?: () => void;
  /**
   * Commits wait for no standby. For rows that a failover may lose, and whose writers must not wait while a standby is
   * away.
   */
  readonly commitsLocally?: boolean;
}

export type Sql = postgres.Sql<{ bigint: number; date: Date; array: string[] }>;
export type TransactionSql = postgres.TransactionSql<{ bigint: number; date: Date; array: string[] }>;

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
 * Sends times in the client's own format, except that serializing must not throw. If it threw, the client would count
 * the statement as sent, and read every later response on the connection as that to the statement before.
 * PostgreSQL rejects the text that replaces an invalid time.
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
 * Arrays of names, texts, dates and UUIDs, the only ones in our statements. By default the client queries the array
 * types on each new connection. If that query fails, because the connection is lost or a pooler finds no database, no
 * caller receives the error and it ends the process (3.4.9).
 */
const array: postgres.PostgresType<string[]> = {
  to: 1009,
  from: [1003, 1009, 1182, 2951],
  serialize: (value: readonly string[] | string) => (typeof value === "string" ? value : toArrayText(value)),
  parse: readArrayText,
};

/**
 * A client with this many connections, each opened at its first query. Connections live until they break: a client that
 * renews them by age could do so between the statements of a transaction.
 */
export function connect(address: DatabaseAddress, options: ConnectOptions): Sql {
  const shared = {
    max: options.connections,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: options.connectTimeout ?? 10,
    types: { bigint: bigintAsNumber, date, array },
    // The client takes an error that is thrown here for that of the statement, which is the commit.
    onnotice: ({ routine }: { readonly routine?: string }) => {
      if (routine === "SyncRepWaitForLSN") throw new UnconfirmedCommit();
    },
    // A caller that opens its own sockets expects to lose connections. Other clients, before the server starts, read
    // arrays of more types.
    ...(options.openSocket ? { socket: options.openSocket, fetch_types: false, ssl: false } : {}),
    ...(options.onClose ? { onclose: options.onClose } : {}),
    connection: {
      application_name: APPLICATION_NAME,
      // A commit whose wait for a standby was cancelled differs from a success only in its warning.
      client_min_messages: "warning",
      ...(options.role ? { role: options.role } : {}),
      statement_timeout: options.statementTimeout,
      // Two requests with one idempotency key wait for each other this long; then the second one fails.
      lock_timeout: 2_000,
      idle_in_transaction_session_timeout: 10_000,
      // A generic plan estimates that any time matches a third of the rows, and would read a million tokens to find no
      // expired one.
      enable_seqscan: "off",
      ...(options.commitsLocally ? { synchronous_commit: "local" } : {}),
      ...(options.walksIndexes ? { enable_nestloop: "off", enable_hashjoin: "off", enable_bitmapscan: "off" } : {}),
      jit: "off",
      // Citus propagates `set local` to its workers only with this. Plain PostgreSQL accepts it as an unknown setting.
      "citus.propagate_set_commands": "local",
    },
  };
  return "url" in address ? postgres(address.url, shared) : postgres({ ...address, ...shared });
}

/**
 * One connection, as the login itself unless it names a role. It ends with the block that holds it.
 * @param options statementTimeout in milliseconds: 10 s if absent.
 */
export function soleConnection(
  address: DatabaseAddress,
  options: Partial<Pick<ConnectOptions, "role" | "statementTimeout">> = {},
): Sql & AsyncDisposable {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000, ...options });
  return Object.assign(sql, { [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }) });
}

/** Values of `sslmode`. As the client does, `verify-ca` verifies the host's name too. */
export const TLS_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

/** An address has another `sslmode`: the client would take it for one that verifies certificates. */
export class UnknownTlsMode extends Error {
  override readonly name = "UnknownTlsMode";
}

/** The encryption of connections to an address, as the client reads its `sslmode`. @throws {UnknownTlsMode} */
export function connectionTls(address: DatabaseAddress): {
  readonly mode: TlsMode;
  readonly negotiation: "direct" | undefined;
} {
  // A client without queries opens no connection.
  const { options } = "url" in address ? postgres(address.url) : postgres({ ...address });
  const mode: TlsMode | string = options.ssl;
  const negotiation = Reflect.get(options, "sslnegotiation") === "direct" ? "direct" : undefined;
  if (typeof mode !== "string") return { mode, negotiation };
  const known = TLS_MODES.find((each) => each === mode);
  if (known === undefined) throw new UnknownTlsMode();
  return { mode: known === "disable" ? false : known, negotiation };
}
