import { connect, type DatabaseAddress, type Sql } from "./connect.js";
import { codeOf } from "./database-error.js";
import { DatabaseSetupError } from "./roles.js";

/** The oldest PostgreSQL that our SQL runs on, as it tells its version. */
const OLDEST = 150_000;

/**
 * Finds out whether a database answers, and whom it takes us for.
 * @param setting where the operator named it: `DATABASE_URL`. Its value holds a password and is not shown.
 * @returns the role that logged in.
 * @throws {DatabaseSetupError} with what to do about it.
 */
export async function meetDatabase(address: DatabaseAddress, setting: string): Promise<string> {
  let sql: Sql;
  try {
    sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  } catch {
    throw new DatabaseSetupError(`${setting} must be an address such as postgres://user:password@host:5432/database.`);
  }
  try {
    const [met] = await sql<{ login: string; version: number; shown: string }[]>`
      select current_user as login, current_setting('server_version_num')::int as version,
        current_setting('server_version') as shown`;
    if (!met) throw new Error("the database does not tell its version");
    if (met.version < OLDEST) {
      throw new DatabaseSetupError(`${setting} names a PostgreSQL ${met.shown}. Cloakroom needs 15 or newer.`);
    }
    return met.login;
  } catch (error) {
    throw error instanceof DatabaseSetupError ? error : inOperatorsWords(error, setting);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function inOperatorsWords(error: unknown, setting: string): unknown {
  const code = codeOf(error);
  switch (code) {
    case "28P01":
    case "28000":
      return new DatabaseSetupError(
        `The database refuses the login that ${setting} names (${code}): check its password.`,
      );
    case "3D000":
      return new DatabaseSetupError(`There is no such database as ${setting} names. Create it, owned by its login.`);
    case "unknown":
      return error;
    default:
      return new DatabaseSetupError(`The database that ${setting} names does not answer (${code}).`);
  }
}
