import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Uuid } from "../../../src/base/ids.js";
import type { Connector } from "../../../src/payments/contract/connector.js";
import { showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { TenantPayments } from "../../../src/payments/lifecycle/tenant-payments.js";
import { beginRotation, finishRotation } from "../../../src/tenancy/tenant-rotation.js";
import { agents } from "../connectors/bench.js";
import { Payer } from "./payer.js";
import { SERVICES, type Service } from "./services.js";

const OPERATIONS = ["authorize", "capture", "void", "refund", "lookUp"] as const;
type Operation = (typeof OPERATIONS)[number];

let payer: Payer;
let service: Service;
/** When the service has carried this out, and before its response is stored, the tenant's keys are rotated. */
let rotatedDuring: Operation | undefined;
beforeEach(async () => {
  payer = await Payer.open();
  const [simulated] = SERVICES;
  if (!simulated) throw new Error("there is no service");
  service = await simulated[1](payer.vault.database, payer.tenantId);
});
afterEach(() => payer[Symbol.asyncDispose]());
afterAll(() => agents.close());

async function rotate(): Promise<void> {
  const { vault, tenantId, clock } = payer;
  expect(await beginRotation(vault, tenantId)).toBe("begun");
  const { database, keyring } = vault;
  const options = { retireAfter: 0, onProgress: () => {}, signal: new AbortController().signal };
  expect(await finishRotation({ database, keyring, clock }, tenantId, options)).toEqual({ state: "done" });
}

function rotating(inner: Connector): Connector {
  const then = async <T>(operation: Operation, outcome: Promise<T>): Promise<T> => {
    const ended = await outcome;
    if (operation !== rotatedDuring) return ended;
    rotatedDuring = undefined;
    await rotate();
    return ended;
  };
  return {
    ...inner,
    authorize: (context, request) => then("authorize", inner.authorize(context, request)),
    capture: (context, request) => then("capture", inner.capture(context, request)),
    void: (context, request) => then("void", inner.void(context, request)),
    refund: (context, request) => then("refund", inner.refund(context, request)),
    lookUp: (context, payment) => then("lookUp", inner.lookUp(context, payment)),
  };
}

const till = async () => payer.connect({ ...service, connector: rotating(service.connector) });

async function stored(id: Uuid) {
  const payments = new TenantPayments(await payer.vault.tenants.of(payer.tenantId));
  const payment = await payments.find(id);
  if (!payment) throw new Error("the payment is gone");
  expect(payment.attempt).toBeUndefined();
  return { payment, refunds: await payments.listRefunds(id) };
}

describe("keys that are rotated while a payment service is at work", () => {
  test("lose no response to an authorization", async () => {
    rotatedDuring = "authorize";
    const id = await (await till()).pay("authorize");
    const { payment } = await stored(id);
    expect(payment).toMatchObject({ status: "authorization_succeeded" });
    expect((await service.moved(showReconciliationId(payment))).authorize).toEqual([1234]);
  });

  test.each([
    ["capture", "capture_succeeded"],
    ["void", "authorization_voided"],
  ] as const)("lose no response to a %s", async (operation, status) => {
    const shop = await till();
    const id = await shop.pay("authorize");
    rotatedDuring = operation;
    await shop.follow(id, operation);
    expect((await stored(id)).payment).toMatchObject({ status });
  });

  test("lose no response to a refund", async () => {
    const shop = await till();
    const id = await shop.pay("capture");
    rotatedDuring = "refund";
    await shop.follow(id, "refund");
    const { payment, refunds } = await stored(id);
    expect(payment).toMatchObject({ refundedAmount: 500 });
    expect(refunds).toMatchObject([{ status: "succeeded", amount: 500 }]);
  });

  test("lose no look-up of a payment of unknown end", async () => {
    const shop = await till();
    service.fail("authorize", { response: "reset", acted: true });
    const id = await shop.pay("authorize");
    rotatedDuring = "lookUp";
    await shop.sync(id);
    expect((await stored(id)).payment).toMatchObject({ status: "authorization_succeeded" });
  });
});
