import postgres from "postgres";

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

export interface ConnectOptions {
  /** Absent: the login role itself, for migrations and doctor. */
  readonly role?: DatabaseRole;
  readonly connections: number;
  /** Milliseconds after which the database gives a statement up. 0: never. */
  readonly statementTimeout: number;
  readonly connectTimeout?: number;
}

export type Sql = postgres.Sql<{ bigint: number }>;

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
 * A client with that many connections, none of which is opened before its first query. Connections live until they
 * break: a client that renews them by age could do so between the statements of a transaction.
 */
export function connect(address: DatabaseAddress, options: ConnectOptions): Sql {
  const shared = {
    max: options.connections,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: options.connectTimeout ?? 10,
    types: { bigint: bigintAsNumber },
    onnotice: () => {},
    connection: {
      application_name: "cloakroom",
      ...(options.role ? { role: options.role } : {}),
      statement_timeout: options.statementTimeout,
      // Two requests with one idempotency key wait for each other this long, then the second is told so.
      lock_timeout: 2_000,
      idle_in_transaction_session_timeout: 10_000,
      // Citus sends `set local` on to its workers only with this; plain PostgreSQL takes it for an unknown setting.
      "citus.propagate_set_commands": "local",
    },
  };
  return "url" in address ? postgres(address.url, shared) : postgres({ ...address, ...shared });
}
