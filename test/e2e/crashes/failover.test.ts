// Waits: 20 s
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { restClient } from "../../support/rest.js";
import { type ServerHere, serveHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";
import { TokenLoad } from "../support/token-load.js";
import { expectNothingLost, underLoad } from "../support/under-load.js";

/** More callers than the vault has connections. */
const CALLERS = 24;

describe("with a synchronous standby, a vault", () => {
  let primary: PostgresCluster;
  let standby: PostgresCluster;
  let server: ServerHere;
  let key: string;
  let environment: Record<string, string>;
  const directory = newDirectory();

  beforeAll(async () => {
    primary = await PostgresCluster.start({ settings: { fsync: "on", max_wal_senders: "4" } });
    const url = await primary.login("vault", { attributes: "createrole" });
    standby = await primary.addStandby();
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
    environment = {
      DATABASE_URL: url.replace(`127.0.0.1:${primary.port}`, hosts),
      CLOAKROOM_DATA_DIR: join(directory, `data-${primary.port}`),
    };
    expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
    await primary.waitForStandbys("*");
    server = await serveHere(environment);
    ({ key } = await (await newTenant(server.url, environment)).backEnd());
  });
  afterAll(async () => {
    await server?.stop();
    await standby?.[Symbol.asyncDispose]();
    await primary?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const connections = async () => {
    const rows = await primary.admin`select 1 from pg_stat_activity where usename = 'vault'`;
    return rows.length;
  };
  const waiting = async () => {
    const rows = await primary.admin`select 1 from pg_stat_activity where wait_event = 'SyncRep'`;
    return rows.length;
  };

  it("acknowledges no write that the standby has not confirmed, and loses none that it acknowledged to a failover", async () => {
    const writes = new TokenLoad();
    await underLoad(writes, server, key, 100, async () => {
      await standby.stopServer();
      await expect.poll(waiting).toBeGreaterThan(0);
    });
    const before = writes.acknowledged.length;
    const unconfirmed = new TokenLoad("unconfirmed", CALLERS);
    unconfirmed.start(restClient(server.url, key));
    // Every caller of the first round has its response, and those of the next wait.
    await expect.poll(() => [...unconfirmed.refusals.values()].reduce((sum, n) => sum + n, 0)).toBeGreaterThan(CALLERS);
    const held = await connections();
    expect(held).toBeLessThan(40);
    await unconfirmed.stop();
    expect(unconfirmed.acknowledged).toEqual([]);
    expect([...unconfirmed.refusals.keys()]).toEqual([503]);
    expect(writes.acknowledged.length).toBe(before);

    await primary.killServer();
    await standby.startServer();
    await standby.promote();
    await standby.waitForStandbys("");
    await expectNothingLost(writes, server.url, key);
  });
});
