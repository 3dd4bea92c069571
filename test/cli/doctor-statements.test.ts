import { rmSync } from "node:fs";
import { expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { readConfig } from "../../src/settings/config.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { openVault } from "../../src/vault/vault.js";
import { cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { PostgresCluster } from "../support/postgres-cluster.js";

it("doctor asks as many statements whatever the number of tenants", async () => {
  await using cluster = await PostgresCluster.start({ settings: { log_statement: "all" } });
  await using stack = new AsyncDisposableStack();
  const directory = newDirectory();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const url = await cluster.login("vault", { attributes: "createrole" });
  const environment = { DATABASE_URL: url, CLOAKROOM_DATA_DIR: directory };
  expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
  const addTenants = async (count: number) => {
    const config = readConfig(environment);
    await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
    for (let made = 0; made < count; made += 1)
      await provisionTenant(vault, { name: `Tenant ${made}`, ownerEmail: "a@example.com" });
  };
  const statementsOfDoctor = async () => {
    const before = cluster.said.length;
    const { stdout } = await cloakroom(environment, "doctor", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ database: "DATABASE_URL" });
    return cluster.said.slice(before).match(/LOG: {2}(?:statement|execute [^:]*):/g)?.length ?? 0;
  };
  await addTenants(1);
  const ofOne = await statementsOfDoctor();
  expect(ofOne).toBeGreaterThan(10);
  await addTenants(40);
  expect(await statementsOfDoctor()).toBe(ofOne);
});
