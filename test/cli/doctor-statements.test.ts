import { rmSync } from "node:fs";
import { expect, it } from "vitest";
import { cloakroom } from "../support/command.js";
import { addTenants, statementsOfDoctor } from "../support/doctor-statements.js";
import { newDirectory } from "../support/new-directory.js";
import { PostgresCluster } from "../support/postgres-cluster.js";

it("doctor asks as many statements whatever the number of tenants", async () => {
  await using database = await PostgresCluster.start({ settings: { log_statement: "all" } });
  await using stack = new AsyncDisposableStack();
  const directory = newDirectory();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const url = await database.login("vault", { attributes: "createrole" });
  const environment = { DATABASE_URL: url, CLOAKROOM_DATA_DIR: directory };
  expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
  await addTenants(environment, 1);
  const [ofOne = []] = await statementsOfDoctor(environment, [database]);
  expect(ofOne.length).toBeGreaterThan(10);
  await addTenants(environment, 40);
  expect(await statementsOfDoctor(environment, [database])).toEqual([ofOne]);
});
