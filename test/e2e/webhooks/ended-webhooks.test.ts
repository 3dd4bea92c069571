import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

/** More than one request ends: the delivery queue ends the others. */
const WAITING = 10_010;

describe("a webhook with many events", () => {
  let stored: Stored;
  let tenant: TestTenant;
  beforeAll(async () => {
    stored = await openStored();
    tenant = await newTenant();
  });
  afterAll(async () => {
    await stored?.[Symbol.asyncDispose]();
  });

  const newWebhook = async (): Promise<string> => {
    const { body } = await tenant.manage("POST", "/webhooks", {
      body: { name: "many", url: "https://example.com/hook", events: ["token.created"] },
    });
    return body.id;
  };
  /** Events that are due in a day: none is sent meanwhile. */
  const wait = (webhookId: string, count: number) =>
    stored.change(
      tenant.id,
      `insert into webhook_deliveries (tenant_id, event_id, webhook_id, number, event_type, entity_type, entity_id, content,
         state, attempts, claim, due_at, expires_at, created_at)
       select '${tenant.id}', gen_random_uuid(), '${webhookId}', n, 'token.created', 'token', 'token-' || n, 'sealed',
         'waiting', 0, 0, now() + interval '1 day', now() + interval '30 days', now() from generate_series(1, ${count}) n`,
    );
  const put = (id: string, status: string) =>
    tenant.manage("PUT", `/webhooks/${id}`, {
      body: { name: "many", url: "https://example.com/hook", events: ["token.created"], status },
    });
  const total = async (id: string, state: string): Promise<number> => {
    const { body } = await tenant.manage("GET", `/webhooks/${id}/deliveries?state=${state}&size=1`);
    return body.pagination.total_items;
  };

  it("ends all that wait once it is disabled, and cannot be enabled before", async () => {
    const id = await newWebhook();
    await wait(id, WAITING);
    expect((await put(id, "disabled")).status).toBe(200);
    await expect.poll(() => total(id, "failed")).toBe(WAITING);
    expect(await total(id, "waiting")).toBe(0);
    // Nothing wakes the queue: no minute is noted for these.
    await wait(id, WAITING);
    const refused = await put(id, "enabled");
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining("still being ended")]);
    expect((await tenant.manage("GET", `/webhooks/${id}`)).body.status).toBe("disabled");
    await stored.change(
      tenant.id,
      `insert into due (tenant_id, kind, due_at) values ('${tenant.id}', 'webhook_delivery', date_trunc('minute', now()))
       on conflict do nothing`,
    );
    await expect.poll(() => total(id, "failed")).toBe(2 * WAITING);
    // Written by a request that had not seen the change.
    await wait(id, 1);
    expect((await put(id, "enabled")).status).toBe(200);
    expect([await total(id, "waiting"), await total(id, "failed")]).toEqual([0, 2 * WAITING + 1]);
    expect((await tenant.manage("DELETE", `/webhooks/${id}`)).status).toBe(204);
    await expect.poll(async () => (await stored.left(tenant.id)).webhook_deliveries ?? 0).toBe(0);
  });
});
