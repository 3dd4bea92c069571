import { expect, it } from "vitest";
import { openStored } from "../../support/stored.js";
import { newTenant } from "../../support/tenant.js";
import { startDestination } from "./support/destination.js";
import { makeProxy } from "./support/proxies.js";

it("a proxy refuses a key that was deleted after a failover, known at a revision that the failover lost", async () => {
  await using stored = await openStored();
  await using destination = await startDestination();
  const tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const { key } = await makeProxy(tenant, { destination_url: destination.url });
  expect((await backEnd("GET", "/applications/key")).status).toBe(200);
  // What was deleted on the standby raised the revision less than what was lost.
  await stored.change(tenant.id, `delete from application_keys where application_id = '${backEnd.id}'`);
  await stored.change(
    tenant.id,
    `update tenants set auth_revision = auth_revision - 1 where tenant_id = '${tenant.id}'`,
  );
  const { status } = await backEnd("GET", "/proxy", { headers: { "BT-PROXY-KEY": key } });
  expect([status, destination.requests]).toEqual([401, []]);
});
