import { expect, it, vi } from "vitest";
import { startReceiver } from "../../support/receiver.js";
import { openStored } from "../../support/stored.js";
import { newTenant } from "../../support/tenant.js";

/** More than one claim reads. */
const BLOCKED = 10_100;

it("an event arrives although thousands before it wait for the first of their entity", async () => {
  await using receiver = await startReceiver();
  await using stored = await openStored();
  const tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const { body: webhook } = await tenant.manage("POST", "/webhooks", {
    body: { name: "n", url: receiver.url, events: ["token.created"] },
  });
  await stored.change(
    tenant.id,
    `insert into webhook_deliveries (tenant_id, event_id, webhook_id, number, event_type, entity_type, entity_id, content,
       state, attempts, claim, due_at, expires_at, created_at)
     select '${tenant.id}', gen_random_uuid(), '${webhook.id}', n, 'token.created', 'token', 'busy', 'sealed', 'waiting', 0, 0,
       case when n = 1 then now() + interval '1 day' else now() end, now() + interval '30 days', now()
     from generate_series(1, ${BLOCKED}) n`,
  );
  const { body: token } = await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
  await vi.waitFor(() => expect(receiver.received).toHaveLength(1), { interval: 50 });
  expect(JSON.parse(receiver.received[0]?.body ?? "").event.data.token.id).toBe(token.id);
});
