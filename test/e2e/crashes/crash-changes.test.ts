// Computes: 12 s
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { readConfig } from "../../../src/settings/config.js";
import { openVault } from "../../../src/vault/vault.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type ChangedToken, changeOn, makeChanged, stateAfter } from "../support/change-load.js";
import { expectBooksBalanced } from "../support/simulator-store.js";

describe("a server that is killed while tokens are changed and deleted", () => {
  const directory = newDirectory();
  const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) };
  let server: Replica;
  let tenant: TestTenant;
  let key: string;
  beforeAll(async () => {
    server = await startReplica(environment);
    tenant = await newTenant(server.url, environment);
    key = (await tenant.backEnd()).key;
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Checks a token against the acknowledged steps, and its log for exactly those steps. */
  async function expectWhole(client: RestClient, manage: RestClient, token: ChangedToken): Promise<"there" | "gone"> {
    const { status, body } = await client("GET", `/tokens/${token.id}`);
    const { body: log } = await manage("GET", `/logs?entity_id=${token.id}&size=100`);
    const told = (operation: string) =>
      log.data.filter((row: { operation: string }) => row.operation === operation).length;
    const { step } = status === 200 ? body.data : { step: token.sent };
    expect([token.acknowledged, token.sent], "a step that was acknowledged, or the one under way").toContain(step);
    expect({ status, updates: told("update"), deletions: told("delete") }).toEqual(
      token.deletion === "acknowledged" || (token.deletion === "sent" && status === 404)
        ? { status: 404, updates: token.acknowledged, deletions: 1 }
        : { status: 200, updates: step, deletions: 0 },
    );
    if (status === 404) return "gone";
    expect(body).toMatchObject(stateAfter(step));
    return "there";
  }

  /** Found by its last step, and by neither the previous nor the next one. */
  async function expectFound(client: RestClient, tokens: readonly ChangedToken[]): Promise<void> {
    const responses = await Promise.all(tokens.map(({ id }) => client("GET", `/tokens/${id}`)));
    const stepOf = new Map(responses.map(({ body }) => [String(body.id), Number(body.data.step)]));
    for (const step of new Set(stepOf.values())) {
      const { body } = await client("GET", `/tokens?metadata.step=step-${step}&size=100`);
      const found = body.data.map(({ id }: { id: string }) => id);
      const ids = tokens.filter(({ id }) => stepOf.get(id) === step).map(({ id }) => id);
      expect(found.toSorted()).toEqual(ids.toSorted());
    }
  }

  it("keeps every acknowledged step, and none partially", async () => {
    for (let round = 0; round < 3; round += 1) {
      const doomed = restClient(server.url, key);
      const tokens = await makeChanged(doomed, 36);
      // Every third token is deleted early; the others are in the middle of their steps when the server is killed.
      const running = tokens.map((token, index) => changeOn(doomed, token, index % 3 === 0 ? 2 + (index % 7) : 90));
      const deleted = () => tokens.filter(({ deletion }) => deletion === "acknowledged").length;
      await expect.poll(deleted, { interval: 2 }).toBeGreaterThan(4);
      await server.stop("SIGKILL");
      await Promise.all(running);
      const underWay = tokens.filter(({ acknowledged, sent }) => acknowledged < sent);
      expect(underWay.length, "steps that were under way").toBeGreaterThan(0);

      server = await startReplica(environment);
      const config = readConfig(environment);
      await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
      const { tokens: stored } = await expectBooksBalanced(vault.ownerAddress, tenant.id);
      const client = restClient(server.url, key);
      const manage = restClient(server.url, tenant.managementKey);
      const fates = await Promise.all(tokens.map((token) => expectWhole(client, manage, token)));
      const there = tokens.filter((_, index) => fates[index] === "there");
      expect(stored).toBe(there.length);
      await expectFound(client, there);
      // The next round starts empty.
      for (const { id } of there) expect((await client("DELETE", `/tokens/${id}`)).status).toBe(204);
    }
  });
});
