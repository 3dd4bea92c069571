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

    it("takes out a worker that does not respond, once no shard is on it", async () => {
      const worker = citus.addressOf(0);
      const succeeds = async (...args: readonly string[]) =>
        expect(await cluster(...args)).toMatchObject({ code: 0, stdout: expect.any(String) });
      await succeeds("add-node", worker);
      await succeeds("rebalance");
      await citus.workers[0]?.killServer();
      const full = await cluster("drain", worker, "--remove");
      expect([full.code, full.stderr]).toEqual([
        1,
        `${worker} does not respond or is disabled, and holds shards of each table: 1. Start it, run cluster add-node for it, then run this again.\n`,
      ]);
      const kept = await cluster("drain", worker);
      expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining(`do not respond: ${worker}.`)]);

      await citus.workers[0]?.startServer();
      await succeeds("drain", worker);
      await citus.workers[0]?.killServer();
      await succeeds("drain", worker, "--remove");
      expect(await cloakroom(environment, "doctor")).toMatchObject({
        stdout: expect.not.stringContaining(worker),
      });
    });
  },
);
