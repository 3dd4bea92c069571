import { expect } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { newUuid } from "../../src/base/ids.js";
import { readConfig } from "../../src/settings/config.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { openVault } from "../../src/vault/vault.js";
import { cloakroom } from "./command.js";
import type { PostgresCluster } from "./postgres-cluster.js";

type Environment = Readonly<Record<string, string>>;

export async function addTenants(environment: Environment, count: number): Promise<void> {
  const config = readConfig(environment);
  await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
  for (let made = 0; made < count; made += 1)
    await provisionTenant(vault, { name: `Tenant ${made}`, ownerEmail: "a@example.com" });
}

/** The statements that each of these servers gets of one `cloakroom doctor`. They run with `log_statement` `all`. */
export async function statementsOfDoctor(
  environment: Environment,
  servers: readonly PostgresCluster[],
): Promise<readonly (readonly string[])[]> {
  const before = servers.map((server) => server.said.length);
  const { stdout } = await cloakroom(environment, "doctor", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ database: "DATABASE_URL" });
  // Their logs are complete once they have a later statement.
  const last = newUuid();
  for (const { admin } of servers) await admin.unsafe(`select '${last}'`);
  for (const server of servers) await expect.poll(() => server.said).toContain(last);
  return servers.map((server, index) => statementsIn(server.said.slice(before[index]), last));
}

function statementsIn(log: string, last: string): readonly string[] {
  const found = log.matchAll(/LOG: {2}(?:statement|execute [^:]*): (.*(?:\n\t.*)*)/g);
  const statements = [...found].map(([, statement = ""]) => statement).filter((statement) => !statement.includes(last));
  // Citus numbers its processes.
  return statements.map((statement) => statement.replace(/gpid=\d+/, "gpid"));
}
