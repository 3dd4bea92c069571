// Computes: 20 s
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { readConfig } from "../../../src/settings/config.js";
import { openVault } from "../../../src/vault/vault.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";
import { expectBooksBalanced } from "../support/simulator-store.js";
import { TokenLoad } from "../support/token-load.js";
import { expectNothingLost, tokensOf } from "../support/under-load.js";

const TENANTS = 8;

/** Requests of several tenants travel to the database together, and each tenant's in a transaction of its own. */
describe("a vault under the load of many tenants", () => {
  const directory = newDirectory();
  const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) };
  const tenants: { readonly id: string; readonly key: string; readonly load: TokenLoad }[] = [];
  let server: Replica;
  beforeAll(async () => {
    server = await startReplica(environment);
    for (let n = 0; n < TENANTS; n += 1) {
      const tenant = await newTenant(server.url, environment);
      tenants.push({ id: tenant.id, key: (await tenant.backEnd()).key, load: new TokenLoad(`request of ${n}`, 4) });
    }
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const acknowledged = () => tenants.reduce((sum, { load }) => sum + load.acknowledged.length, 0);

  async function underLoad(then: () => Promise<unknown>): Promise<void> {
    const before = acknowledged();
    for (const { load, key } of tenants) load.start(restClient(server.url, key));
    await expect.poll(() => acknowledged() - before, { interval: 5 }).toBeGreaterThan(100);
    await then();
    await Promise.all(tenants.map(({ load }) => load.stop()));
  }

  /** Each tenant has exactly the tokens of its own requests. */
  async function expectEverythingStoredOnce(): Promise<void> {
    for (const { load, key } of tenants) await expectNothingLost(load, server.url, key);
    const config = readConfig(environment);
    await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
    for (const { id, load } of tenants) {
      const { tokens, responses } = await expectBooksBalanced(vault.ownerAddress, id);
      expect({ tokens, responses }).toEqual({ tokens: tokensOf(load), responses: load.requests.length });
    }
  }

  it("keeps all acknowledged work, once and for its own tenant, when it is killed", async () => {
    for (let round = 0; round < 3; round += 1) {
      await underLoad(() => server.stop("SIGKILL"));
      server = await startReplica(environment);
      await expectEverythingStoredOnce();
    }
  });

  it("keeps it when its database loses a process", async () => {
    for (let round = 0; round < 2; round += 1) {
      await underLoad(async () => {
        const pid = readFileSync(join(directory, "data", "pg18", "data", "postmaster.pid"), "utf8").split("\n")[0];
        const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
        const backends = children.filter((child) =>
          /cloakroom cloakroom/.test(readFileSync(`/proc/${child}/cmdline`, "utf8")),
        );
        process.kill(Number(backends[round % backends.length]), "SIGKILL");
        const before = acknowledged();
        await expect.poll(() => acknowledged() - before).toBeGreaterThan(100);
      });
      const refused = tenants.flatMap(({ load }) => [...load.refusals.keys()]).filter((status) => status !== 0);
      expect(refused.filter((status) => status !== 503)).toEqual([]);
      await expectEverythingStoredOnce();
    }
  });
});
