import { afterAll, beforeAll, expect, test } from "vitest";
import type { Connector } from "../../../src/payments/contract/connector.js";
import { showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { LEASE_SECONDS, readPayment } from "../../../src/store/payments/payments.js";
import { agents } from "../connectors/bench.js";
import { Payer } from "./payer.js";
import { SERVICES, type Service } from "./services.js";

let payer: Payer;
let service: Service;
beforeAll(async () => {
  payer = await Payer.open();
  const [simulated] = SERVICES;
  if (!simulated) throw new Error("there is no service");
  service = await simulated[1](payer.vault.database, payer.tenantId);
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

/** A connection to the service with other look-ups and authorizations. */
const tillWith = (changed: Partial<Connector>) =>
  payer.connect({ ...service, connector: { ...service.connector, ...changed } });

test("a payment that is sent again after a long look-up is reserved for as long as any that is sent", async () => {
  const { connector } = service;
  const leases: number[] = [];
  const till = await tillWith({
    async lookUp(context, payment) {
      const found = await connector.lookUp(context, payment);
      await payer.lapse(id);
      return found;
    },
    async authorize(context, request) {
      leases.push(await payer.leaseLeft(id));
      return connector.authorize(context, request);
    },
  });
  const id = await till.pay("authorize", "until the request is written down");
  expect(await till.sync(id)).toMatchObject({ status: "authorization_succeeded" });
  // Some seconds less, because the machine may be busy.
  expect(leases).toEqual([expect.toSatisfy((seconds: number) => seconds > LEASE_SECONDS / 2)]);
});

test("a payment is sent again by one of two processes whose look-ups took longer than a lease", async () => {
  const { connector } = service;
  const sending = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let lookUps = 0;
  let sent = 0;
  let other: Promise<unknown> | undefined;
  const till = await tillWith({
    async lookUp(context, payment) {
      lookUps += 1;
      const isFirst = lookUps === 1;
      const found = await connector.lookUp(context, payment);
      if (!isFirst) return found;
      await payer.lapse(id);
      other = till.sync(id);
      await sending.promise;
      return found;
    },
    async authorize(context, request) {
      sent += 1;
      sending.resolve();
      await released.promise;
      return connector.authorize(context, request);
    },
  });
  const id = await till.pay("authorize", "until the request is written down");
  await till.sync(id);
  expect(sent).toBe(1);
  released.resolve();
  await other;
  const payment = await till.read(id);
  expect(payment.status).toBe("authorization_succeeded");
  expect((await service.moved(showReconciliationId(payment))).authorize).toEqual([1234]);
  expect(await payer.run((tx) => tx.query(readPayment, id))).toMatchObject({ leased: false });
});
