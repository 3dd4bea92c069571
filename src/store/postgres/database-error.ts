import postgres from "postgres";
import { Fault, Reason, UNAVAILABLE, unavailable } from "../../base/fault.js";
import { ConnectionLost, DatabaseError } from "../wire/server-error.js";

export { ConnectionLost } from "../wire/server-error.js";

/**
 * What a failed statement or connection means. Constraint and table names are never read: on a distributed engine they
 * are a shard's, or missing.
 */
export type DatabaseFailure =
  /** Another transaction won. The same statements may succeed now. */
  | "serialization"
  /** The connection is lost or was never established. */
  | "connection"
  /** The session has changed since its statements were prepared. They may succeed in a new one. */
  | "stale_session"
  /** A row with this key exists. */
  | "unique"
  /** A lock was not granted in time. */
  | "lock_timeout"
  /** The statement exceeded its timeout. */
  | "statement_timeout"
  /** The database lacks disk, memory or connections, takes no writes, or refuses our login. */
  | "resources"
  /** The requests of the transaction were authorized under an older revision. */
  | "stale_authorization"
  /** The transaction's log rows belong to a closed minute. */
  | "closed_minute"
  /** An earlier statement of the transaction failed. */
  | "aborted_before"
  | "other";

const CONNECTION_CODES = new Set(["CONNECTION_CLOSED", "CONNECTION_ENDED", "CONNECTION_DESTROYED", "CONNECT_TIMEOUT"]);

/** Node's error codes of TLS and certificates. */
const TLS_CODE = /^(?:ERR_(?:SSL|TLS)_|CERT_|UNABLE_TO_)|SELF_SIGNED/;

export function classifyFailure(error: unknown): DatabaseFailure {
  const code = databaseErrorCode(error);
  if (error instanceof ConnectionLost) return "connection";
  if (!isReported(error)) return isOfConnection(error, code) ? "connection" : "other";
  switch (code) {
    case "40001":
    case "40P01":
    // The row that this one refers to was deleted meanwhile. A retry reports that.
    case "23503":
      return "serialization";
    // A prepared statement changed, is gone or belongs to another session: "cached plan must not change result type",
    // an unknown name, a name that is taken. A migration ran, or a pooler switched sessions.
    case "0A000":
    case "26000":
    case "42P05":
      return "stale_session";
    case "23505":
      return "unique";
    case "55P03":
      return "lock_timeout";
    case "57014":
      return "statement_timeout";
    case "22012":
      return "stale_authorization";
    // "cannot take logarithm of zero": the only statement with a logarithm checks that the minute is open.
    case "2201E":
      return "closed_minute";
    case "25P02":
      return "aborted_before";
    // The transaction idled or lasted too long, and the database ended it with its connection.
    case "25P03":
    case "25P04":
      return "connection";
    case "25006":
    case "3D000":
      return "resources";
    default:
  }
  if (code.startsWith("08") || code.startsWith("57P")) return "connection";
  // Class 55: the database accepts no connections, is being copied, or cannot serve for another reason.
  return RESOURCE_CLASSES.has(code.slice(0, 2)) ? "resources" : "other";
}

const RESOURCE_CLASSES = new Set(["28", "53", "55", "58"]);

/** Whether PostgreSQL reported the error, to either of our clients. */
function isReported(error: unknown): error is DatabaseError | postgres.PostgresError {
  return error instanceof DatabaseError || error instanceof postgres.PostgresError;
}

/**
 * Whether the session may differ from a new one: it was lost, our own code failed at a statement, its prepared
 * statements are gone, or it takes no writes. A session that was read-only once may stay so for good.
 */
export function mustDiscardSession(error: unknown): boolean {
  if (!isReported(error) || error.code === "25006") return true;
  const trouble = classifyFailure(error);
  return trouble === "connection" || trouble === "stale_session";
}

/** A system error names the call that failed. Its codes are too many to list, and any can occur at a commit. */
function isOfConnection(error: unknown, code: string): boolean {
  if (CONNECTION_CODES.has(code) || TLS_CODE.test(code)) return true;
  return error instanceof AggregateError || (error instanceof Error && "syscall" in error);
}

/** The SQLSTATE or system code, or "unknown". Nothing else of a driver error may be logged. */
export function databaseErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}

/** Another transaction is in the way. `table` is the one that the failed statement writes. */
class Contention extends Fault {
  readonly table: string | undefined;

  constructor(code: string, table: string | undefined) {
    super("unavailable", UNAVAILABLE, { retryAfter: 1, cause: new Reason(`database ${code}`) });
    this.table = table;
  }
}

/** The row's key is taken at each attempt. Only inserts without a conflict target can fail so. */
export class UniqueViolation extends Contention {
  constructor(table?: string) {
    super("23505", table);
  }
}

/** Another transaction holds a needed row for longer than the lock timeout. */
export class LockTimeout extends Contention {
  constructor(table?: string) {
    super("55P03", table);
  }
}

/** The caller's rights changed after they were loaded. The request is authorized and run again. */
export class StaleAuthorization extends Error {
  override readonly name = "StaleAuthorization";
}

/**
 * Makes the error that leaves the store. Driver errors carry statements and parameters, so none of them leaves it: only
 * the code is kept, for the operator's log.
 * @param table that the failed statement writes, if known.
 */
export function toStoreError(error: unknown, table?: string): Error {
  switch (classifyFailure(error)) {
    case "unique":
      return new UniqueViolation(table);
    case "lock_timeout":
      return new LockTimeout(table);
    case "stale_authorization":
      return new StaleAuthorization();
    case "other":
    case "aborted_before":
      return isOfDriver(error) || databaseErrorCode(error) !== "unknown" || !(error instanceof Error)
        ? new Fault("internal", "Something went wrong on our side.", {
            cause: new Reason(`database ${databaseErrorCode(error)}`),
          })
        : error;
    default:
      return unavailable(`database ${databaseErrorCode(error)}`);
  }
}

/**
 * The driver attaches the statement and its parameters to every error at a statement, even one in our own reading of a
 * result.
 */
function isOfDriver(error: unknown): boolean {
  return isReported(error) || (error instanceof Error && "parameters" in error);
}
