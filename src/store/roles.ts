import type { Sql } from "./connect.js";

/** The database is not set up as it must be. The message is for the operator and says what to run. */
export class DatabaseSetupError extends Error {
  override readonly name = "DatabaseSetupError";
}

/** What an operator runs where the login role may not create roles. */
export function roleStatements(login: string): string {
  return [
    "create role cloakroom_app nologin nosuperuser nobypassrls;",
    "create role cloakroom_jobs nologin nosuperuser nobypassrls;",
    `grant cloakroom_app, cloakroom_jobs to ${quoteName(login)};`,
  ].join("\n");
}

/**
 * Makes the two roles and lets the logins act as them.
 * @throws {DatabaseSetupError} with the statements to run, where that is not allowed.
 */
export async function ensureRoles(sql: Sql, logins: readonly string[]): Promise<void> {
  for (const role of ["cloakroom_app", "cloakroom_jobs"]) {
    const [found] = await sql`select 1 from pg_roles where rolname = ${role}`;
    if (!found) await sql.unsafe(`create role ${role} nologin nosuperuser nobypassrls`).catch(refuse(logins));
    for (const login of logins) {
      // Granted also where there is a membership: since PostgreSQL 16 the one of a role's maker does not let it act as the role.
      const granted = await sql.unsafe(`grant ${role} to ${quoteName(login)}`).then(
        () => true,
        () => false,
      );
      if (!granted && !(await isMember(sql, login, role))) refuse(logins)(undefined);
    }
  }
}

async function isMember(sql: Sql, login: string, role: string): Promise<boolean> {
  const [found] = await sql`
    select 1 from pg_auth_members m
    join pg_roles r on r.oid = m.roleid join pg_roles l on l.oid = m.member
    where r.rolname = ${role} and l.rolname = ${login}`;
  return found !== undefined;
}

/**
 * The effective role must be held by row-level security, also when an operator made it by hand.
 * @throws {DatabaseSetupError}
 */
export async function refuseMightyRole(sql: Sql): Promise<void> {
  const [role] = await sql<{ name: string; mighty: boolean }[]>`
    select rolname as name, rolsuper or rolbypassrls as mighty from pg_roles where rolname = current_user`;
  if (role?.mighty) {
    throw new DatabaseSetupError(
      `The role ${role.name} is a superuser or bypasses row-level security, so that tenants would not be kept apart. Run: alter role ${role.name} nosuperuser nobypassrls;`,
    );
  }
}

function refuse(logins: readonly string[]): (error: unknown) => never {
  return (error) => {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // 23505 and 42710: another process made it at the same moment.
    if (code === "23505" || code === "42710")
      throw new DatabaseSetupError("Another process is setting up this database. Start again.");
    const statements = logins.map(roleStatements).join("\n");
    throw new DatabaseSetupError(
      `The login role may not make the roles that Cloakroom runs as. Let a database administrator run these, then start again:\n${statements}`,
    );
  };
}

/** A name as SQL quotes it. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
