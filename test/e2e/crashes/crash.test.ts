// Computes: 35 s
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { readConfig } from "../../../src/settings/config.js";
import { openVault } from "../../../src/vault/vault.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { newTenant } from "../../support/tenant.js";
import { expectBooksBalanced } from "../support/simulator-store.js";
import { TokenLoad } from "../support/token-load.js";
import { expectNothingLost, tokensOf, underLoad } from "../support/under-load.js";

describe("with its embedded database, a vault", () => {
  const directory = newDirectory();
  const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) };
  const load = new TokenLoad();
  let server: Replica;
  let key: string;
  let tenantId: string;
  beforeAll(async () => {
    server = await startReplica(environment);
    const tenant = await newTenant(server.url, environment);
    tenantId = tenant.id;
    key = (await tenant.backEnd()).key;
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Reads the database as a command next to the server does. */
  async function books() {
    const config = readConfig(environment);
    await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
    return await expectBooksBalanced(vault.ownerAddress, tenantId);
  }

  function postmaster(): number {
    return Number(readFileSync(join(directory, "data", "pg18", "data", "postmaster.pid"), "utf8").split("\n")[0]);
  }

  it("keeps all acknowledged work and nothing partial when it is killed under load repeatedly", async () => {
    for (let round = 0; round < 3; round += 1) {
      await underLoad(load, server, key, 150, () => server.stop("SIGKILL"));
      expect(load.unacknowledged.length, "requests that were under way").toBeGreaterThan(0);
      server = await startReplica(environment);
      await books();
      await expectNothingLost(load, server.url, key);
    }
    const { tokens, responses } = await books();
    expect({ tokens, responses }).toEqual({ tokens: tokensOf(load), responses: load.requests.length });
  });

  it("continues when its database loses a process under load, and responds with 503 at worst", async () => {
    load.refusals.clear();
    await underLoad(load, server, key, 100, async () => {
      // A backend that dies takes all others with it: PostgreSQL recovers as after a crash.
      const children = readFileSync(`/proc/${postmaster()}/task/${postmaster()}/children`, "utf8").trim().split(" ");
      const backend = children.find((pid) => /cloakroom cloakroom/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")));
      process.kill(Number(backend), "SIGKILL");
      const before = load.acknowledged.length;
      await expect.poll(() => load.acknowledged.length - before).toBeGreaterThan(100);
    });
    expect([...load.refusals.keys()].filter((status) => status !== 503)).toEqual([]);
    await expectNothingLost(load, server.url, key);
    const { tokens } = await books();
    expect(tokens).toBe(tokensOf(load));
  });

  it("exits with a message when its database is killed completely, and has lost nothing after a restart", async () => {
    await underLoad(load, server, key, 100, async () => process.kill(postmaster(), "SIGKILL"));
    expect(await server.ended).toBe(1);
    expect(server.said()).toMatch(/The embedded database has ended: PostgreSQL (was ended by SIGKILL|ended)\./);
    server = await startReplica(environment);
    await expectNothingLost(load, server.url, key);
    const { tokens } = await books();
    expect(tokens).toBe(tokensOf(load));
  });
});
