import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid } from "../../../src/base/ids.js";
import { type Database, openDatabase } from "../../../src/store/database.js";
import { deleteWebhookDeliveries, failWaiting } from "../../../src/store/jobs/webhook-deliveries.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";

/** More than two statements change. */
const WAITING = 20_001;

describe("events that wait for a webhook", () => {
  const tenantId = newTenantId();
  const [webhookId, other] = [newUuid(), newUuid()];
  let database: TestDatabase;
  let opened: Database;
  beforeAll(async () => {
    database = await startDatabase();
    opened = openDatabase({ address: database.address, sharedConnections: 1, bulkConnections: 1, clock: systemClock });
    const wait = (webhook: string, count: number) =>
      database.asTenant(
        tenantId,
        `insert into webhook_deliveries (tenant_id, event_id, webhook_id, number, event_type, entity_type, entity_id,
             content, state, attempts, claim, due_at, expires_at, created_at)
           select '${tenantId}', gen_random_uuid(), '${webhook}', n, 'token.created', 'token', 'token-' || n,
             'sealed', 'waiting', 0, 0, now(), now() + interval '30 days',
             now() - n * interval '1 ms' from generate_series(1, ${count}) n`,
      );
    await wait(webhookId, WAITING);
    await wait(other, 2);
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  const states = async () => {
    const rows = await database.asTenant<{ webhook_id: string; state: string; n: number }>(
      tenantId,
      "select webhook_id, state, count(*)::int as n from webhook_deliveries group by 1, 2",
    );
    return new Map(rows.map(({ webhook_id, state, n }) => [`${webhook_id} ${state}`, n]));
  };

  it("all end when it is disabled, and all go when it is deleted", async () => {
    await opened.of(tenantId).ordinary((tx) => failWaiting(tx, webhookId, "disabled"));
    const untouched = [`${other} waiting`, 2] as const;
    expect(await states()).toEqual(new Map([[`${webhookId} failed`, WAITING], untouched]));
    await opened.of(tenantId).ordinary((tx) => deleteWebhookDeliveries(tx, webhookId));
    expect(await states()).toEqual(new Map([untouched]));
  });
});
