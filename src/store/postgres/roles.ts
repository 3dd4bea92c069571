import { quoteName } from "../statements/sql-text.js";
import type { Sql } from "./connect.js";
import { databaseErrorCode } from "./database-error.js";

/** The database is not set up correctly. The message is for the operator and says what to do. */
export class DatabaseSetupError extends Error {
  override readonly name = "DatabaseSetupError";
}

/** The roles that run statements. They have no right to bypass row-level security. */
const ROLES = ["cloakroom_app", "cloakroom_jobs"] as const;

/**
 * Creates the two roles and lets the logins act as them.
 * @throws {DatabaseSetupError} with the statements to run, if the login may not.
 */
export async function ensureRoles(sql: Sql, logins: readonly string[]): Promise<void> {
  const missing = await missingRoleStatements(sql, logins);
  for (const statement of missing) await runBesideOthers(sql, statement, missing);
}

async function runBesideOthers(sql: Sql, statement: string, missing: readonly string[], attempts = 5): Promise<void> {
  try {
    await sql.unsafe(statement);
  } catch (error) {
    const code = databaseErrorCode(error);
    // 42710 and 23505: another process has just created it.
    if (code === "42710" || code === "23505") return;
    // XX000, "tuple concurrently updated": another process is granting the same, and may still fail.
    if (code === "XX000" && attempts > 1) return runBesideOthers(sql, statement, missing, attempts - 1);
    throw code === "42501" ? toBeRunByAdministrator(missing) : error;
  }
}

/**
 * Checks that the roles are complete, or that the login may complete them.
 * @throws {DatabaseSetupError} with the statements to run.
 */
export async function requireRolesOrRights(sql: Sql, logins: readonly string[]): Promise<void> {
  const missing = await missingRoleStatements(sql, logins);
  const [me] = await sql<{ mayMake: boolean }[]>`
    select rolsuper or rolcreaterole as "mayMake" from pg_roles where rolname = current_user`;
  if (missing.length > 0 && !me?.mayMake) throw toBeRunByAdministrator(missing);
}

/** @throws {DatabaseSetupError} with the statements to run, if a role is missing or a login may not act as it. */
export async function requireRoles(sql: Sql, logins: readonly string[]): Promise<void> {
  const missing = await missingRoleStatements(sql, logins);
  if (missing.length > 0) throw toBeRunByAdministrator(missing);
}

/**
 * Checks that row-level security applies to the effective role, even one that an operator created by hand.
 * @throws {DatabaseSetupError}
 */
export async function refusePrivilegedRole(sql: Sql): Promise<void> {
  const role = await privilegedRole(sql);
  if (role === undefined) return;
  throw new DatabaseSetupError(
    `The role ${role} is a superuser or bypasses row-level security. It could read and change the rows of all tenants. Run: alter role ${role} nosuperuser nobypassrls;`,
  );
}

/** The name of the current role if it is a superuser or bypasses row-level security, otherwise undefined. */
export async function privilegedRole(sql: Sql): Promise<string | undefined> {
  const [role] = await sql<{ name: string }[]>`
    select rolname as name from pg_roles where rolname = current_user and (rolsuper or rolbypassrls)`;
  return role?.name;
}

/**
 * SQL that gives the database a login without the privileges of the current role. PostgreSQL's first role stays a
 * superuser, so another login gets the database, and the tables that exist there, with what they grant to their owner.
 */
export async function withoutPrivileges(sql: Sql, role: string): Promise<string> {
  const [me] = await sql<{ isFirst: boolean; database: string }[]>`
    select oid = 10 as "isFirst", current_database() as database from pg_roles where rolname = current_user`;
  if (!me?.isFirst) return `alter role ${quoteName(role)} nosuperuser nobypassrls createrole;`;
  return [
    "create role cloakroom login createrole password '...';",
    `grant ${ROLES.join(", ")} to cloakroom;`,
    `alter database ${quoteName(me.database)} owner to cloakroom;`,
    "do $$ declare t regclass; begin for t in select oid from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace loop execute format('alter table %s owner to cloakroom', t); end loop; for t in select polrelid from pg_policy where polname = 'of_operator' loop execute format('alter policy of_operator on %s to cloakroom', t); end loop; if to_regproc('make_log_month') is not null then alter function make_log_month owner to cloakroom; end if; end $$;",
  ].join("\n");
}

/** The statements that let the logins act as the roles. */
async function missingRoleStatements(sql: Sql, logins: readonly string[]): Promise<string[]> {
  const found = await sql<{ name: string }[]>`select rolname as name from pg_roles where rolname = any(${[...ROLES]})`;
  const there = ROLES.filter((role) => found.some(({ name }) => name === role));
  const statements = ROLES.filter((role) => !there.includes(role)).map(
    (role) => `create role ${role} nologin nosuperuser nobypassrls`,
  );
  for (const login of logins) {
    // Since PostgreSQL 16 the creator of a role is a member that may not act as it.
    const acts = await sql<{ name: string }[]>`
      select rolname as name from pg_roles where rolname = any(${[...there]}) and case
        when current_setting('server_version_num')::int >= 160000 then pg_has_role(${login}, oid, 'SET')
        else pg_has_role(${login}, oid, 'MEMBER') end`;
    const lacking = ROLES.filter((role) => !acts.some(({ name }) => name === role));
    if (lacking.length > 0) statements.push(`grant ${lacking.join(", ")} to ${quoteName(login)}`);
  }
  return statements;
}

function toBeRunByAdministrator(statements: readonly string[]): DatabaseSetupError {
  return new DatabaseSetupError(
    `The login role may not make the roles that Cloakroom runs as. Let a database administrator run this, then run the command again:\n${statements.map((statement) => `${statement};`).join("\n")}`,
  );
}
