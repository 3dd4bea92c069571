import type { Sql } from "../postgres/connect.js";
import { databaseErrorCode } from "../postgres/database-error.js";
import { DatabaseSetupError } from "../postgres/roles.js";

/**
 * Runs a statement that Citus allows to superusers, some of them also to those who were granted it.
 * @throws {DatabaseSetupError} with the statement if it is not allowed, otherwise with what Citus answers.
 */
export async function asAdministrator(sql: Sql, statement: string): Promise<void> {
  try {
    await sql.unsafe(statement);
  } catch (error) {
    if (databaseErrorCode(error) === "42501") {
      throw new DatabaseSetupError(
        `This login may not change the nodes of the cluster. Let a superuser run this in the same database on the coordinator, then run this again:\n${statement};`,
      );
    }
    throw new DatabaseSetupError(`The cluster refuses: ${error instanceof Error ? error.message : "no reason given"}`);
  }
}
