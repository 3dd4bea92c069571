import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { CitusHere } from "./support/citus-here.js";

// On a cluster of its own: it takes its only worker out.
describe.runIf(inject("isCluster") && process.env.TEST_CITUS)(
  "a coordinator that holds shards, with one worker",
  () => {
    const directory = newDirectory();
    let citus: CitusHere;
    let environment: Record<string, string>;
    beforeAll(async () => {
      citus = await CitusHere.start({ workers: 1, joined: 0 });
      environment = { DATABASE_URL: citus.url, CLOAKROOM_DATA_DIR: join(directory, "data") };
      expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
    });
    afterAll(async () => {
      await citus?.[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    });
    const cluster = (...args: readonly string[]) =>
      cloakroom({ ...environment, MIGRATE_DATABASE_URL: citus.administratorUrl }, "cluster", ...args);

    it("is given its first worker before its tables are distributed", async () => {
      const { code, stdout, stderr } = await cluster("add-node", citus.addressOf(0));
      expect([code, stdout, stderr]).toEqual([0, expect.stringContaining("added: true"), ""]);
      for (const args of [["rebalance"], ["rebalance", "--dry-run"], ["drain", citus.addressOf(0)]]) {
        const refused = await cluster(...args);
        expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/^No table is distributed/)]);
      }
      expect(await cloakroom(environment, "cluster", "distribute", "--shards", "2")).toMatchObject({ code: 0 });
    });

    it("brings its worker back once it is drained, or takes it out", async () => {
      await citus.coordinator.inDatabase("vault", async (sql) => {
        await sql`select citus_set_node_property('127.0.0.1', ${citus.coordinator.port}, 'shouldhaveshards', true)`;
      });
      for (const args of [["drain"], ["add-node"], ["drain"], ["drain", "--remove"]]) {
        const { code, stderr } = await cluster(...args, citus.addressOf(0));
        expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
      }
    });
  },
);
