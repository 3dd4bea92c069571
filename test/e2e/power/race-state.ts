import { asServer } from "../../../src/audit/tenant-database.js";
import { listMemberRows } from "../../../src/store/people/members.js";
import { openSealedRights } from "../../../src/tenancy/profile.js";
import { withVault } from "../../support/tenant.js";
import type { HeldRows } from "../support/held-rows.js";
import { heldByKey } from "./collusion-world.js";
import { type RaceWorld, VALUE } from "./race-world.js";

/** Everything of a tenant that two operations can leave, and all that anybody holds, without ids and times. */
export async function stateOf(world: RaceWorld, database: HeldRows): Promise<readonly string[]> {
  return [
    ...(await membersIn(world, database)),
    ...(await rowsIn(world, database)),
    ...(await Promise.all(
      [...world.browsers].map(async ([name, browser]) => {
        const { status, body } = await browser.call("SignInService/WhoAmI");
        const where = body.tenantId === world.id ? "here" : "elsewhere";
        return `browser of ${name}: ${status === 200 ? `${body.role} ${where} strong=${Boolean(body.strongUntil)}` : status}`;
      }),
    )),
    ...(await Promise.all(
      [...world.keys].map(async ([name, key]) => {
        return `key ${name}: ${(await heldByKey(world.tenant, key)).join(", ")}`;
      }),
    )),
    ...(await valuesIn(world)),
  ].toSorted();
}

async function membersIn(world: RaceWorld, database: HeldRows): Promise<readonly string[]> {
  const count = (table: string) =>
    `(select count(*)::int from ${table} r where r.tenant_id = m.tenant_id and r.member_id = m.id) as ${table}`;
  const counts = await database.rows<Record<string, string | number>>(
    world.id,
    `select m.id, ${["passkeys", "sign_ins", "member_identities"].map(count).join(", ")} from members m
     where m.tenant_id = '${world.id}'`,
  );
  return withVault(world.server.environment, async ({ database: own, keyring }) => {
    const keys = await keyring.of(world.id);
    return asServer(own, keys).bulk(async (tx) => {
      const { items } = await tx.query(listMemberRows, { page: 1, size: 50, userIds: [] });
      return items.map((row) => {
        const { needsPasskey, hadPasskey, containers } = openSealedRights(keys, row);
        const { id: _, ...kept } = counts.find(({ id }) => id === row.id) ?? {};
        const said = { role: row.role, needsPasskey, hadPasskey, containers, ...kept };
        return `member ${world.names.get(row.id) ?? "new"}: ${JSON.stringify(said)}`;
      });
    });
  });
}

async function rowsIn(world: RaceWorld, database: HeldRows): Promise<readonly string[]> {
  const whose = `where tenant_id = '${world.id}'`;
  const called = (id: string | null) => (id === null ? "nobody" : (world.names.get(id) ?? "new"));
  const invitations = await database.rows<{ role: string; revision: number; member_id: string | null }>(
    world.id,
    `select role, revision, member_id from invitations ${whose}`,
  );
  const exports = await database.rows<{ created_by: string; approved_by: string | null }>(
    world.id,
    `select created_by, approved_by from token_exports ${whose}`,
  );
  return [
    ...invitations.map((row) => `invitation: ${row.role} ${row.revision} accepted by ${called(row.member_id)}`),
    ...exports.map((row) => `export: ${called(row.created_by)} with ${called(row.approved_by)}`),
  ];
}

/** Callers that get the stored value, and what is set about it. */
async function valuesIn(world: RaceWorld): Promise<readonly string[]> {
  const { settings } = (await world.tenant.manage("GET", "/tenants/self")).body;
  const set = ["reveal_to_people", "require_export_approval"].map((name) => `${name}: ${settings[name]}`);
  if (!world.has("token")) return set;
  const [id, { client }] = [await world.token(), await world.backEnd()];
  const sessions = [...world.sessions].map(async ([name, key]) => {
    const { status, body } = await client("GET", `/tokens/${id}`, { key });
    return `session ${name}: ${status} ${body.data === VALUE}`;
  });
  const exported = await client("POST", "/tokens/export", { body: { container: "/pci/" } });
  return [...set, ...(await Promise.all(sessions)), `export: ${exported.body.data?.[0]?.data === VALUE}`];
}

interface LoggedRow {
  readonly id: string;
  readonly actor_id?: string;
  readonly entity_type: string;
  readonly operation: string;
  readonly outcome: string;
}

/** The rows of what took effect since others, as `who did what`. */
export async function loggedSince(world: RaceWorld, before: ReadonlySet<string>): Promise<readonly string[]> {
  const rows = (await logOf(world)).filter(({ id, outcome }) => !before.has(id) && outcome === "allowed");
  return rows
    .map(({ actor_id: id, operation, entity_type }) => {
      const who = id === undefined ? "the server" : (world.names.get(id) ?? "somebody");
      return `log: ${who} ${operation} ${entity_type}`;
    })
    .toSorted();
}

export async function logOf({ tenant }: RaceWorld): Promise<readonly LoggedRow[]> {
  return (await tenant.manage("GET", "/logs?size=100")).body.data;
}
