import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { serveHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";
import { expectBooksBalanced } from "../support/simulator-store.js";
import { TokenLoad } from "../support/token-load.js";
import { expectNothingLost, tokensOf, underLoad } from "../support/under-load.js";

describe("with a database that DATABASE_URL names, a vault", () => {
  it("recovers by itself when its database is killed and restarted, and has lost nothing", async () => {
    const directory = newDirectory();
    await using cluster = await PostgresCluster.start({ settings: { fsync: "on" } });
    const url = await cluster.login("vault", { attributes: "createrole" });
    const environment = { DATABASE_URL: url, CLOAKROOM_DATA_DIR: join(directory, "data") };
    expect((await cloakroom(environment, "init")).code).toBe(0);
    await using server = await serveHere(environment);
    const tenant = await newTenant(server.url, environment);
    const { key } = await tenant.backEnd();
    const load = new TokenLoad();
    for (let round = 0; round < 2; round += 1) {
      await underLoad(load, server, key, 100, async () => {
        await cluster.killServer();
        await cluster.startServer();
        const before = load.acknowledged.length;
        await expect.poll(() => load.acknowledged.length - before).toBeGreaterThan(50);
      });
    }
    expect([...load.refusals.keys()].filter((status) => status !== 503)).toEqual([]);
    await expectNothingLost(load, server.url, key);
    const { tokens, responses } = await expectBooksBalanced({ url }, tenant.id);
    expect({ tokens, responses }).toEqual({ tokens: tokensOf(load), responses: load.requests.length });
    rmSync(directory, { recursive: true, force: true });
  });
});
