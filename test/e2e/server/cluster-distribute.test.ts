import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";

// On a real cluster: npm run test:engine.
describe("cloakroom cluster ... on a plain PostgreSQL", () => {
  const directory = newDirectory();
  let server: PostgresCluster;
  let environment: Record<string, string>;
  beforeAll(async () => {
    server = await PostgresCluster.start();
    const url = await server.login("vault", { attributes: "createrole" });
    environment = { DATABASE_URL: url, CLOAKROOM_DATA_DIR: join(directory, "data") };
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });
  const distribute = (...options: string[]) => cloakroom(environment, "cluster", "distribute", ...options);

  it("asks for init first, then reports that there is no cluster, and changes nothing", async () => {
    expect(await distribute()).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "The database has no schema yet. Run: cloakroom init\n",
    });
    const init = await cloakroom(environment, "init");
    expect([init.code, init.stderr]).toEqual([0, expect.not.stringContaining("cluster")]);
    for (const options of [[], ["--dry-run"], ["--shards", "8"]]) {
      expect(await distribute(...options)).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(
          /^This database is a plain PostgreSQL [\d.]+.*: there is nothing to distribute it to\. This command is for the coordinator of a Citus cluster\.\n$/,
        ),
      });
    }
    const { code, stdout } = await cloakroom(environment, "doctor", "--json");
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.not.objectContaining({ nodes: expect.anything() })]);
    const roles = await server.admin<{ canLogIn: boolean }[]>`
      select rolcanlogin as "canLogIn" from pg_roles where rolname like 'cloakroom\\_%'`;
    expect(roles.map(({ canLogIn }) => canLogIn)).toEqual([false, false]);
  });

  it.each(["0", "-1", "many", "1.5", "64001"])("rejects --shards %s", async (shards) => {
    expect(await distribute(`--shards=${shards}`)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--shards must be a number from 1 to 64000."),
    });
  });

  it.each([["add-node", "worker"], ["rebalance"], ["rebalance", "--dry-run"], ["drain", "worker:5433", "--remove"]])(
    "answers that there is no cluster for cluster %s",
    async (...args) => {
      const { code, stdout, stderr } = await cloakroom(environment, "cluster", ...args);
      expect([code, stdout, stderr]).toEqual([
        1,
        "",
        expect.stringContaining("for the coordinator of a Citus cluster."),
      ]);
      expect(await server.admin`select 1 from pg_roles where rolcanlogin and rolname like 'cloakroom\\_%'`).toEqual([]);
    },
  );

  it.each(["", "a b", "worker:0", "worker:65536", "worker:x", "'; drop table tokens", "::1", "[::1", "-x"])(
    "rejects the node %j",
    async (node) => {
      for (const command of ["add-node", "drain"]) {
        const { code, stdout, stderr } = await cloakroom(environment, "cluster", command, "--", node);
        expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining("NODE must be HOST or HOST:PORT")]);
      }
    },
  );

  it("takes one node, and none for a rebalance", async () => {
    for (const args of [["add-node"], ["drain"], ["add-node", "a", "b"], ["drain", "a", "b"], ["rebalance", "a"]]) {
      expect(await cloakroom(environment, "cluster", ...args)).toMatchObject({ code: 2, stdout: "" });
    }
  });

  it("needs a database in DATABASE_URL", async () => {
    const embedded = { CLOAKROOM_DATA_DIR: join(directory, "embedded") };
    const { code, stderr } = await cloakroom(embedded, "cluster", "distribute");
    expect([code, stderr]).toEqual([1, expect.stringContaining("Set DATABASE_URL")]);
  });
});
