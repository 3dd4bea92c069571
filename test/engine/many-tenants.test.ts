import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { expectAlteredFileNamed } from "../e2e/support/archived-vault.js";
import { cloakroom } from "../support/command.js";
import { addTenants, statementsOfDoctor } from "../support/doctor-statements.js";
import { newDirectory } from "../support/new-directory.js";
import { CitusHere } from "./support/citus-here.js";

/** Otherwise a node opens connections, and ends transactions of others, when it finds the time. */
const PREDICTABLE = {
  log_statement: "all",
  "citus.max_adaptive_executor_pool_size": "1",
  "citus.distributed_deadlock_detection_factor": "-1",
  "citus.recover_2pc_interval": "-1",
};

// On a cluster of its own: it reads the nodes' logs, and removes months of the log.
describe.runIf(inject("isCluster") && process.env.TEST_CITUS)("a cluster of several tenants", () => {
  const directory = newDirectory();
  const archive = join(directory, "archive");
  let citus: CitusHere;
  let environment: Record<string, string>;

  beforeAll(async () => {
    mkdirSync(archive);
    citus = await CitusHere.start({ workers: 2, joined: 2, settings: PREDICTABLE });
    environment = {
      DATABASE_URL: citus.url,
      CLOAKROOM_DATA_DIR: join(directory, "data"),
      CLOAKROOM_LOG_ARCHIVE: archive,
      CLOAKROOM_AUDIT_RETENTION_DAYS: "40",
    };
    expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
    expect(await cloakroom(environment, "cluster", "distribute", "--shards", "4")).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await citus?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it("names an altered file of the archive for its tenant, and no other", async () => {
    await expectAlteredFileNamed(environment);
  });

  it("has doctor ask each node as many statements whatever the number of tenants", async () => {
    const ofThree = await statementsOfDoctor(environment, citus.nodes);
    expect(Math.min(...ofThree.map(({ length }) => length))).toBeGreaterThan(10);
    await addTenants(environment, 40);
    const ofMany = await statementsOfDoctor(environment, citus.nodes);
    expect(ofMany[0]).toEqual(ofThree[0]);
    expect(ofMany.map(({ length }) => length)).toEqual(ofThree.map(({ length }) => length));
  });
});
