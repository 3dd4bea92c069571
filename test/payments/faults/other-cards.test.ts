import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { agents } from "../connectors/bench.js";
import { expectAgreement, settle } from "./agreement.js";
import { Payer } from "./payer.js";
import { SERVICES } from "./services.js";
import type { Till } from "./till.js";

let payer: Payer;
beforeAll(async () => {
  payer = await Payer.open();
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

/** Approved by all services. */
const ANOTHER = "4012888888881881";

const CHANGES: readonly (readonly [name: string, change: (till: Till, tokenId: string) => Promise<unknown>])[] = [
  ["another number", (till, tokenId) => till.patch(tokenId, { data: { number: ANOTHER } })],
  ["another expiry", (till, tokenId) => till.patch(tokenId, { data: { expiration_year: 2031 } })],
  [
    "a new token under the same id",
    async (till, tokenId) => {
      await till.forget(tokenId);
      await till.store(ANOTHER, tokenId);
    },
  ],
];

describe.each(SERVICES)("a payment by %s that did not arrive", (_name, open) => {
  test.each(CHANGES)("is not sent again with %s", async (_change, change) => {
    await using service = await open(payer.vault.database, payer.tenantId);
    const till = await payer.connect(service);
    service.fail("authorize", { response: "reset", acted: false });
    const id = await till.pay("authorize");
    const { tokenId, card } = await till.read(id);
    await change(till, tokenId);
    for (let look = 0; look < 2; look += 1) await till.sync(id);
    const payment = await till.read(id);
    expect(payment).toMatchObject({ status: "processing", card });
    expect((await service.moved(showReconciliationId(payment))).authorize).toEqual([]);
  });

  test("is sent again if the token still, or again, contains that card", async () => {
    await using service = await open(payer.vault.database, payer.tenantId);
    const till = await payer.connect(service);
    service.fail("authorize", { response: "reset", acted: false }, { response: "reset", acted: false });
    const [one, two] = [await till.pay("authorize"), await till.pay("authorize")];
    const { tokenId } = await till.read(one);
    await till.patch(tokenId, { metadata: { seen: "yes" }, data: { cvc: "737" } });
    const renewed = (await till.read(two)).tokenId;
    await till.patch(renewed, { data: { number: ANOTHER } });
    await till.sync(two);
    await till.patch(renewed, { data: { number: service.card } });
    for (const id of [one, two]) {
      const payment = await settle(till, id);
      expect(payment.status).toBe("authorization_succeeded");
      await expectAgreement(till, service, payment);
    }
  });
});
