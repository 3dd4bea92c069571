// Waits: 5 s
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { isTenantId } from "../../../src/base/ids.js";
import { beginRotation, finishRotation } from "../../../src/tenancy/tenant-rotation.js";
import { connect, openShop } from "../../support/payments.js";
import { openStored, type Stored } from "../../support/stored.js";
import { withVault } from "../../support/tenant.js";

/** The simulator takes longer to respond than keys take to be rotated. */
const LATENCY_MS = 4_000;

let stored: Stored;
beforeAll(async () => {
  stored = await openStored();
});
afterAll(() => stored[Symbol.asyncDispose]());

it("a payment is made once if its tenant's keys are rotated while the payment service is at work", async () => {
  const shop = await openShop();
  const { tenant, backEnd } = shop;
  const slow = await connect(tenant, [{ key: "latency_ms", value: String(LATENCY_MS) }]);
  const paying = shop.pay({ connection_id: slow });
  await expect.poll(async () => (await stored.counts(tenant.id)).payments).toBe(1);
  await withVault(inject("serverEnvironment"), async ({ database, keyring, rootKeys }) => {
    if (!isTenantId(tenant.id)) throw new Error("not a tenant");
    await beginRotation({ database, rootKeys }, tenant.id);
    const options = { retireAfter: 120_000, onProgress: () => {}, signal: new AbortController().signal };
    expect(await finishRotation({ database, keyring, clock: systemClock }, tenant.id, options)).toEqual({
      state: "later",
    });
  });
  const { status, body } = await paying;
  expect({ status, payment: body.status }).toEqual({ status: 201, payment: "authorization_succeeded" });
  expect((await backEnd("GET", "/orchestration/transactions")).body.data).toMatchObject([{ id: body.id }]);
  expect(await stored.counts(tenant.id)).toMatchObject({ payments: 1, simulator_payments: 1 });
});
