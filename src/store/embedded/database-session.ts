import postgres from "postgres";

/** What postgres.js is told to reach the database: spread it into its options. */
export interface EmbeddedConnection {
  /** The directory of the unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password: string;
}

/** Our advisory locks: the class keeps them apart from everybody else's. */
const LOCK_CLASS = 0x636c6b72;
const OWNER = 1;
const VISITORS = 2;

/** What a server answers, or does not answer, while it starts, recovers or stops. */
const NOT_NOW = new Set([
  "ENOENT",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "57P01",
  "57P02",
  "57P03",
  "53300",
]);

/** Whether the same attempt may succeed in a while. */
export function isPassing(code: string): boolean {
  return NOT_NOW.has(code);
}

/**
 * One dedicated connection, whose advisory locks show that its process uses the database: an owner's exclusive lock, or
 * the shared one of any number of visitors. PostgreSQL drops them with the connection, however the process ends.
 */
export class DatabaseSession {
  readonly #sql: postgres.Sql;
  /** Resolves when the connection is lost or ended. */
  readonly closed: Promise<void>;

  private constructor(sql: postgres.Sql, closed: Promise<void>) {
    this.#sql = sql;
    this.closed = closed;
  }

  /** @throws the driver's error, of which only the code may be shown */
  static async open(connection: EmbeddedConnection): Promise<DatabaseSession> {
    let onclose = (): void => {};
    const closed = new Promise<void>((resolve) => {
      onclose = resolve;
    });
    const sql = postgres({
      ...connection,
      max: 1,
      idle_timeout: 0,
      max_lifetime: null,
      connect_timeout: 10,
      prepare: false,
      fetch_types: false,
      connection: { application_name: "cloakroom embedded" },
      onnotice: () => {},
      onclose,
    });
    try {
      await sql`select 1`;
    } catch (error) {
      await sql.end({ timeout: 0 });
      throw error;
    }
    return new DatabaseSession(sql, closed);
  }

  /** Whether this session now is the owner's. */
  async tryOwn(): Promise<boolean> {
    return granted(await this.#sql`select pg_try_advisory_lock(${LOCK_CLASS}, ${OWNER}) as granted`);
  }

  /** Whether this session now counts as a visitor; false while the last process is closing the database. */
  async tryVisit(): Promise<boolean> {
    return granted(await this.#sql`select pg_try_advisory_lock_shared(${LOCK_CLASS}, ${VISITORS}) as granted`);
  }

  async endVisit(): Promise<void> {
    await this.#sql`select pg_advisory_unlock_shared(${LOCK_CLASS}, ${VISITORS})`;
  }

  /** Whether nobody else uses the database; if so, nobody can begin to before this session ends. */
  async tryCloseDoors(): Promise<boolean> {
    return granted(
      await this.#sql`
        select pg_try_advisory_lock(${LOCK_CLASS}, ${OWNER}) and pg_try_advisory_lock(${LOCK_CLASS}, ${VISITORS}) as granted`,
    );
  }

  /** Gives back what `tryCloseDoors` got when it got only a part. */
  async openDoors(): Promise<void> {
    await this.#sql`select pg_advisory_unlock_all()`;
  }

  /** Whether another session holds one of the locks. Takes none, so that two processes can look at the same time. */
  async hasCompany(): Promise<boolean> {
    const others = await this.#sql`
      select 1 from pg_locks
      where locktype = 'advisory' and classid = ${LOCK_CLASS} and granted and pid <> pg_backend_pid() limit 1`;
    return others.length > 0;
  }

  async end(): Promise<void> {
    await this.#sql.end({ timeout: 1 });
  }
}

function granted(rows: readonly postgres.Row[]): boolean {
  return rows[0]?.granted === true;
}
