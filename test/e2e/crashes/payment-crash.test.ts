// Computes: 12 s
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { connect, PAYING } from "../../support/payments.js";
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

/** Waits out the reservation of a process that is gone, and reads the bank's books. */
async function afterTheLeases(): Promise<string[]> {
  await using stored = await openStored(environment);
  await stored.endLeases(tenant.id);
  const pages = await stored.textOf(tenant.id, "simulator_payments");
  return pages === "" ? [] : pages.split("\n");
}

describe("a process that is killed during a payment", () => {
  it("leaves a payment that the next process completes: charged once, and reported once", async () => {
    const application = await tenant.application({ type: "private", permissions: PAYING });
    const connection_id = await connect(tenant, [{ key: "latency_ms", value: "2000" }]);
    const data = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" };
    const token = (await application("POST", "/tokens", { body: { type: "card", data } })).body.id;
    const request = {
      body: { amount: 900, currency: "USD", connection_id, token, intent: "capture", external_identifier: "cut" },
      headers: { "BT-IDEMPOTENCY-KEY": "cut" },
    };
    const cut = application("POST", "/orchestration/transactions", request).catch(() => undefined);
    await expect
      .poll(async () => (await application("GET", "/orchestration/transactions")).body.pagination.total_items)
      .toBe(1);
    await server.stop("SIGKILL");
    await cut;

    server = await startReplica(environment);
    const client = restClient(server.url, application.key);
    const list = async () => (await client("GET", "/orchestration/transactions?external_identifier=cut")).body.data;
    expect((await list()).map(({ status }: { status: string }) => status)).toEqual(["processing"]);
    // As far as anyone can know, the first process may still be at work.
    expect((await client("POST", "/orchestration/transactions", request)).status).toBe(409);
    expect(await afterTheLeases()).toEqual([]);

    const [{ id }] = await list();
    await client("POST", `/orchestration/transactions/${id}/sync`);
    await expect.poll(async () => (await list())[0].status).toBe("capture_succeeded");
    const replayed = await client("POST", "/orchestration/transactions", request);
    expect([replayed.status, replayed.body.id, replayed.body.captured_amount]).toEqual([201, id, 900]);
    expect((await list()).length).toBe(1);
    // Quotes of JSON within the text of a row are doubled.
    const [page = "", ...others] = await afterTheLeases();
    expect(others).toEqual([]);
    expect(page.split('""kind"": ""authorization""').length - 1).toBe(1);
    expect(page.split('""kind"": ""capture""').length - 1).toBe(1);
  });
});
