import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid } from "../../../src/base/ids.js";
import { type Database, openDatabase } from "../../../src/store/database.js";
import { deleteWebhookDeliveries, failWaiting, listEndedWebhooks } from "../../../src/store/jobs/ended-webhooks.js";
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

  const addWebhook = (id: string, isEnabled: boolean) =>
    database.asTenant(
      tenantId,
      `insert into webhooks (tenant_id, id, events, enabled, definition, revision, created_at)
       values ('${tenantId}', '${id}', '{token.created}', ${isEnabled}, 'sealed', 1, now())`,
    );
  const listEnded = async () => {
    const rows = await opened.of(tenantId).bulk((tx) => tx.query(listEndedWebhooks, "ended"));
    return rows.map(({ webhook_id }) => webhook_id);
  };

  it("end by 10,000 when it is disabled and when it is deleted, and what is left is noted as due", async () => {
    await addWebhook(webhookId, false);
    await addWebhook(other, true);
    const untouched = [`${other} waiting`, 2] as const;
    const steps: boolean[] = [];
    for (const [name, step] of [
      ["fail", () => opened.of(tenantId).ordinary((tx) => failWaiting(tx, webhookId, "disabled"))],
      ["delete", () => opened.of(tenantId).ordinary((tx) => deleteWebhookDeliveries(tx, webhookId))],
    ] as const) {
      if (name === "delete") await database.asTenant(tenantId, `delete from webhooks where id = '${webhookId}'`);
      await database.asTenant(tenantId, "delete from due");
      expect(await listEnded()).toEqual([webhookId]);
      do steps.push(await step());
      while (steps.at(-1));
      expect(await listEnded()).toEqual([]);
      const kinds = await database.asTenant<{ kind: string }>(tenantId, "select distinct kind from due");
      expect(kinds).toEqual([{ kind: "webhook_delivery" }]);
      if (name === "fail") expect(await states()).toEqual(new Map([[`${webhookId} failed`, WAITING], untouched]));
    }
    expect(steps).toEqual([true, true, false, true, true, false]);
    expect(await states()).toEqual(new Map([untouched]));
  });
});
