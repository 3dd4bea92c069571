import { setTimeout as pause } from "node:timers/promises";
import { connectionTls, type DatabaseAddress, TLS_MODES, UnknownTlsMode } from "./connect.js";
import { databaseErrorCode } from "./database-error.js";
import { connectOnce } from "./one-connection.js";
import { DatabaseSetupError } from "./roles.js";

/** The oldest PostgreSQL that our SQL runs on, as its version number. */
const OLDEST = 150_000;

/** cannot_connect_now: the server is starting, recovering after a crash, or shutting down. */
const STARTING = "57P03";
const RETRY_MS = 500;

export interface StartupWait {
  /** Recovery after a crash can take minutes. */
  readonly waitMs: number;
  readonly announce: (line: string) => void;
}

export const NO_WAIT: StartupWait = { waitMs: 0, announce: () => {} };

/**
 * Checks that a database answers, and finds our role there.
 * @param setting that names the database: `DATABASE_URL`. Its value holds a password and is not shown.
 * @returns the role that logged in.
 * @throws {DatabaseSetupError} with instructions.
 */
export async function awaitDatabase(
  address: DatabaseAddress,
  setting: string,
  { waitMs, announce }: StartupWait = NO_WAIT,
): Promise<string> {
  requireAddress(address, setting);
  const until = performance.now() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await login(address, setting);
    } catch (error) {
      if (databaseErrorCode(error) !== STARTING || performance.now() >= until)
        throw toSetupError(error, address, setting);
      if (isFirst) announce(`The database that ${setting} names is starting up. Waiting for it.`);
      await pause(RETRY_MS);
    }
  }
}

function requireAddress(address: DatabaseAddress, setting: string): void {
  if (!("url" in address)) return;
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(address.url)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "postgres" && scheme !== "postgresql") {
    throw new DatabaseSetupError(`${setting} must begin with postgres://`);
  }
  try {
    connectionTls(address);
  } catch (error) {
    if (error instanceof UnknownTlsMode) {
      throw new DatabaseSetupError(`The sslmode of ${setting} must be one of ${TLS_MODES.join(", ")}.`);
    }
    throw new DatabaseSetupError(`${setting} must be an address such as postgres://user:password@host:5432/database.`);
  }
}

async function login(address: DatabaseAddress, setting: string): Promise<string> {
  const connection = connectOnce(address, { statementTimeout: 10_000 });
  try {
    const [found] = await connection.sql<{ login: string; version: number; shown: string }[]>`
      select current_user as login, current_setting('server_version_num')::int as version,
        current_setting('server_version') as shown`;
    if (!found) throw new Error("the database returned no version");
    if (found.version < OLDEST) {
      throw new DatabaseSetupError(`${setting} names a PostgreSQL ${found.shown}. Cloakroom needs 15 or newer.`);
    }
    return found.login;
  } catch (error) {
    throw connection.cause ?? error;
  } finally {
    connection.drop();
  }
}

/** The TLS error codes of an untrusted certificate. */
const UNTRUSTED = new Set([
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

function toSetupError(error: unknown, address: DatabaseAddress, setting: string): unknown {
  if (error instanceof DatabaseSetupError) return error;
  const code = databaseErrorCode(error);
  if (UNTRUSTED.has(code)) {
    return new DatabaseSetupError(
      `The certificate of the database that ${setting} names is not trusted (${code}). Name its authority in NODE_EXTRA_CA_CERTS, or correct the host.`,
    );
  }
  switch (code) {
    case "28P01":
      return new DatabaseSetupError(
        `The database refuses the login that ${setting} names (${code}): check its password.`,
      );
    case "28000":
      return new DatabaseSetupError(
        `The database refuses the login that ${setting} names (${code}): check the role and pg_hba.conf, which may ask for TLS (?sslmode=require).`,
      );
    case "3D000":
      return new DatabaseSetupError(`The database named in ${setting} does not exist. Create it, owned by its login.`);
    case "TLS_REFUSED":
      return new DatabaseSetupError(
        `The server that ${setting} names does not support TLS, which sslmode=${connectionTls(address).mode} asks for.`,
      );
    case "unknown":
      return error;
    default:
      return new DatabaseSetupError(`The database that ${setting} names does not respond (${code}).`);
  }
}
