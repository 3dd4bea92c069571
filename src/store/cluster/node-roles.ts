import { connect, type DatabaseAddress, type DatabaseRole, type Sql } from "../postgres/connect.js";
import { databaseErrorCode } from "../postgres/database-error.js";
import { DatabaseSetupError } from "../postgres/roles.js";
import { askNodes } from "./ask-nodes.js";

export const NODE_ROLES: readonly DatabaseRole[] = ["cloakroom_app", "cloakroom_jobs"];

/**
 * Lets the roles log in on every node. The coordinator connects to nodes as the role that runs a statement.
 * @param address of the coordinator, as the owner of the tables.
 * @throws {DatabaseSetupError} with instructions if a node refuses a role.
 */
export async function ensureNodeRoles(address: DatabaseAddress, sql: Sql): Promise<void> {
  const statements = await missingLogins(sql);
  try {
    for (const statement of statements) await sql.unsafe(statement);
  } catch (error) {
    if (databaseErrorCode(error) !== "42501") throw error;
    throw new DatabaseSetupError(
      `The login role may not change the roles that Cloakroom runs as. Let a database administrator run this on the coordinator, then run this again:\n${statements.map((statement) => `${statement};`).join("\n")}`,
    );
  }
  const problems = await findLoginProblems(address, sql);
  if (problems.length > 0) throw new DatabaseSetupError(problems.join("\n"));
}

/** The statements that let the roles log in to nodes that refuse them. Citus propagates them to all nodes. */
export async function missingLogins(sql: Sql): Promise<readonly string[]> {
  const here = await sql<{ name: string }[]>`
    select rolname as name from pg_roles where rolname = any(${[...NODE_ROLES]}) and rolcanlogin`;
  const there = await rolesOnNodes(sql);
  const everywhere = (name: string, has: (role: NodeRole) => boolean) =>
    there.every(({ roles }) => roles.some((role) => role.name === name && has(role)));
  // A role that was created in another database of the coordinator, or before nodes were added, exists on the
  // coordinator only.
  const unknown = NODE_ROLES.filter((name) => !everywhere(name, () => true)).map(
    (name) => `select run_command_on_workers('${makeRole(name)}')`,
  );
  const logins = NODE_ROLES.filter(
    (name) => !here.some((role) => role.name === name) || !everywhere(name, ({ mayLogIn }) => mayLogIn),
  ).map((name) => `alter role ${name} login`);
  return [...unknown, ...logins];
}

function makeRole(name: string): string {
  const make = `create role ${name} nosuperuser nobypassrls`;
  return `do $$ begin if to_regrole(''${name}'') is null then ${make}; end if; end $$`;
}

/** The reasons, for the operator, why the roles cannot be used on nodes that respond. */
export async function findLoginProblems(address: DatabaseAddress, owner: Sql): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { address: node, roles } of await rolesOnNodes(owner)) {
    for (const name of NODE_ROLES) {
      const role = roles.find((found) => found.name === name);
      if (!role) problems.push(`The role ${name} is missing on the node ${node}.`);
      else if (role.isPrivileged) {
        problems.push(
          `On the node ${node} the role ${name} is a superuser or bypasses row-level security. It could read and change the rows of all tenants. Run there: alter role ${name} nosuperuser nobypassrls;`,
        );
      }
    }
  }
  for (const role of NODE_ROLES) {
    for (const node of await nodesThatRefuse(address, role)) {
      problems.push(
        `The coordinator cannot log in to the node ${node} as ${role}. Let the role in from the coordinator's address in pg_hba.conf of that node. Where the node asks for a password, set one and add it to pg_dist_authinfo; docs/operations.md has the statements.`,
      );
    }
  }
  return problems;
}

interface NodeRole {
  readonly name: string;
  readonly mayLogIn: boolean;
  readonly isPrivileged: boolean;
}

async function rolesOnNodes(sql: Sql): Promise<readonly { readonly address: string; readonly roles: NodeRole[] }[]> {
  const names = NODE_ROLES.map((name) => `'${name}'`).join(", ");
  const results = await askNodes<NodeRole[]>(
    sql,
    `select coalesce(json_agg(json_build_object(
       'name', rolname, 'mayLogIn', rolcanlogin, 'isPrivileged', rolsuper or rolbypassrls)), '[]')
     from pg_roles where rolname in (${names})`,
  );
  return results.flatMap(({ address, result }) => (result ? [{ address, roles: result }] : []));
}

/** Nodes that let the owner in but not this role. */
async function nodesThatRefuse(address: DatabaseAddress, role: DatabaseRole): Promise<readonly string[]> {
  const [asOwner, asRole] = [
    connect(address, { connections: 1, statementTimeout: 10_000 }),
    connect(address, { role, connections: 1, statementTimeout: 10_000 }),
  ];
  try {
    const reachable = (await askNodes(asOwner, "select to_json(true)")).filter(({ result }) => result !== undefined);
    const open = (await askNodes(asRole, "select to_json(true)")).filter(({ result }) => result !== undefined);
    return reachable.filter(({ id }) => !open.some((node) => node.id === id)).map((node) => node.address);
  } finally {
    await Promise.all([asOwner.end({ timeout: 5 }), asRole.end({ timeout: 5 })]);
  }
}
