// Computes: 10 s
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { openStored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const directory = newDirectory();
const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) };
let server: Replica;
let tenant: TestTenant;
beforeAll(async () => {
  server = await startReplica(environment);
  tenant = await newTenant(server.url, environment);
});
afterAll(async () => {
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Waits for `ms`, and creates a token each time that it is started. */
const leaving = (ms: number) => `module.exports = async ({ bt }) => {
  await bt.tokens.create({ type: "token", data: "here" });
  await new Promise((done) => setTimeout(done, ${ms}));
  return { raw: { done: true } };
};`;

describe("a process that is killed during an asynchronous run", () => {
  it("leaves a run that the next process starts again once its lease is over, with a result", async () => {
    const client = await tenant.backEnd();
    const definition = { name: "Slow", code: leaving(3_000), application: { id: client.id } };
    const { body: reactor } = await tenant.manage("POST", "/reactors", { body: definition });
    const { body: started } = await client("POST", `/reactors/${reactor.id}/react-async`, { body: { args: {} } });
    const starts = async (of: typeof client | ReturnType<typeof restClient>) =>
      (await of("GET", "/tokens")).body.pagination.total_items;
    await expect.poll(() => starts(client)).toBe(1);
    await server.stop("SIGKILL");

    server = await startReplica(environment);
    const again = restClient(server.url, client.key);
    const result = () => again("GET", `/reactors/${reactor.id}/results/${started.asyncReactorRequestId}`);
    // As far as anyone can know, the process that took it may still be at work.
    expect((await result()).status).toBe(404);
    expect(await starts(again)).toBe(1);
    await using stored = await openStored(environment);
    await stored.endLeases(tenant.id);
    await expect.poll(async () => (await result()).status).toBe(200);
    expect((await result()).body).toEqual({ raw: { done: true } });
    expect(await starts(again)).toBe(2);
  });
});
