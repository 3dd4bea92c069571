import { BasisTheory } from "@basis-theory/node-sdk";
import { expect, inject, it } from "vitest";
import { newTenant } from "../../support/tenant.js";
import { newerClient, thrownBy } from "./clients.js";

// A vault on a cluster refuses them: test/engine/cluster.test.ts.
it.runIf(!inject("isCluster"))("@basis-theory/node-sdk 5.7.0 manages webhooks", async () => {
  const tenant = await newTenant();
  const client = newerClient(tenant.managementKey);
  const made = await client.webhooks.create({
    name: "orders",
    url: "https://shop.example.com/hook",
    notifyEmail: "ops@example.com",
    events: ["token.created"],
  });
  expect(made).toMatchObject({ tenantId: tenant.id, status: "enabled", createdBy: expect.any(String) });
  expect(made.createdAt).toBeInstanceOf(Date);
  await expect(client.webhooks.get(made.id)).resolves.toMatchObject({ id: made.id, notifyEmail: "ops@example.com" });
  const changed = await client.webhooks.update(made.id, {
    name: "orders",
    url: "https://shop.example.com/2",
    events: ["token.created", "token.deleted"],
  });
  expect(changed).toMatchObject({ url: "https://shop.example.com/2", events: ["token.created", "token.deleted"] });
  expect((await client.webhooks.list()).data).toHaveLength(1);
  await expect(client.webhooks.events.list()).resolves.toContain("token.created");
  await expect(client.webhooks.ping()).resolves.toBeUndefined();
  await client.webhooks.delete(made.id);
  expect(await thrownBy(client.webhooks.get(made.id))).toBeInstanceOf(BasisTheory.NotFoundError);
});
