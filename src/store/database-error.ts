import postgres from "postgres";
import { Fault, Reason } from "../base/fault.js";
import { ConnectionLost, DatabaseError } from "./wire/server-error.js";

export { ConnectionLost } from "./wire/server-error.js";

/**
 * What a failed statement or connection means for us. Constraint and table names are never read: on a distributed engine
 * they are those of a shard, or missing.
 */
export type DatabaseTrouble =
  /** Another transaction won; the same statements may succeed now. */
  | "serialization"
  /** The connection is gone or was never there. */
  | "connection"
  /** The session is not as it was when its statements were prepared. On a new one the same may succeed. */
  | "stale_session"
  /** A row with this key exists already. */
  | "unique"
  /** A lock was not granted in time. */
  | "lock_timeout"
  /** The statement ran too long. */
  | "statement_timeout"
  /** The database lacks disk, memory or connections, takes no writes, or refuses our login. */
  | "resources"
  /** The callers of the flight were authorized under an older revision. */
  | "stale_authorization"
  /** The flight's log rows would have come into a minute that is closed. */
  | "closed_minute"
  /** A statement earlier in the transaction failed. */
  | "aborted_before"
  | "other";

const CONNECTION_CODES = new Set(["CONNECTION_CLOSED", "CONNECTION_ENDED", "CONNECTION_DESTROYED", "CONNECT_TIMEOUT"]);

/** What Node calls failures of TLS, and of certificates. */
const TLS_CODE = /^(?:ERR_(?:SSL|TLS)_|CERT_|UNABLE_TO_)|SELF_SIGNED/;

const UNAVAILABLE = "The vault cannot serve this request now. Try again shortly.";

export function troubleOf(error: unknown): DatabaseTrouble {
  const code = codeOf(error);
  if (error instanceof ConnectionLost) return "connection";
  if (!isAnswered(error)) return isOfConnection(error, code) ? "connection" : "other";
  switch (code) {
    case "40001":
    case "40P01":
    // What the row belongs to was deleted meanwhile: run again, the request meets that.
    case "23503":
      return "serialization";
    // What a session had prepared changed, is gone or belongs to another: "cached plan must not change result type", an
    // unknown name, a name that is taken. A migration came between, or a pooler handed us another session.
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
    // "cannot take logarithm of zero": the one statement that takes a logarithm asks whether the minute is open.
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
  // Class 55: the database accepts no connections, is being copied, or is otherwise in no state to serve.
  return RESOURCE_CLASSES.has(code.slice(0, 2)) ? "resources" : "other";
}

const RESOURCE_CLASSES = new Set(["28", "53", "55", "58"]);

/** PostgreSQL itself answered it, to either of our clients. */
function isAnswered(error: unknown): error is DatabaseError | postgres.PostgresError {
  return error instanceof DatabaseError || error instanceof postgres.PostgresError;
}

/**
 * Whether the session may be in another state than a new one: it was lost, our own code failed at a statement, what was
 * prepared there is gone, or it takes no writes, which a session that was read-only once may never do again.
 */
export function leavesDoubt(error: unknown): boolean {
  if (!isAnswered(error) || error.code === "25006") return true;
  const trouble = troubleOf(error);
  return trouble === "connection" || trouble === "stale_session";
}

/** The system says which call failed, whatever it calls the error: there are too many to name, and any can come at a commit. */
function isOfConnection(error: unknown, code: string): boolean {
  if (CONNECTION_CODES.has(code) || TLS_CODE.test(code)) return true;
  return error instanceof AggregateError || (error instanceof Error && "syscall" in error);
}

/** The SQLSTATE or system code, or "unknown". All of a driver error that may be logged. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}

/** Another transaction stands in the way. `table` is what the statement writes that met it. */
class Contention extends Fault {
  readonly table: string | undefined;

  constructor(code: string, table: string | undefined) {
    super("unavailable", UNAVAILABLE, { retryAfter: 1, cause: new Reason(`database ${code}`) });
    this.table = table;
  }
}

/** The row's key is taken, again at each attempt. Only inserts that name no conflict target can meet it. */
export class UniqueViolation extends Contention {
  constructor(table?: string) {
    super("23505", table);
  }
}

/** A row that the transaction needs is held by another for longer than the lock timeout. */
export class LockTimeout extends Contention {
  constructor(table?: string) {
    super("55P03", table);
  }
}

/** The caller's rights changed since they were loaded. The request authorizes again and runs again. */
export class StaleAuthorization extends Error {
  override readonly name = "StaleAuthorization";
}

/**
 * The error that leaves the store. Driver errors carry statements and parameters, so that none of them passes: only the
 * code goes along, for the operator's log.
 * @param table what the statement writes that failed, where that is known.
 */
export function toStoreError(error: unknown, table?: string): Error {
  switch (troubleOf(error)) {
    case "unique":
      return new UniqueViolation(table);
    case "lock_timeout":
      return new LockTimeout(table);
    case "stale_authorization":
      return new StaleAuthorization();
    case "other":
    case "aborted_before":
      return isOfDriver(error) || codeOf(error) !== "unknown" || !(error instanceof Error)
        ? new Fault("internal", "Something went wrong on our side.", {
            cause: new Reason(`database ${codeOf(error)}`),
          })
        : error;
    default:
      return unavailable(`database ${codeOf(error)}`);
  }
}

/** Whatever fails at a statement, be it our own reading of an answer, is given the statement and its parameters. */
function isOfDriver(error: unknown): boolean {
  return isAnswered(error) || (error instanceof Error && "parameters" in error);
}

export function unavailable(reason: string): Fault {
  return new Fault("unavailable", UNAVAILABLE, { retryAfter: 1, cause: new Reason(reason) });
}
