import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Clock } from "../../../src/base/clock.js";
import type { Uuid } from "../../../src/base/ids.js";
import type { Connector } from "../../../src/payments/contract/connector.js";
import { showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { adyenBench } from "../connectors/adyen-bench.js";
import { agents, type Bench } from "../connectors/bench.js";
import { checkoutBench } from "../connectors/checkout-bench.js";
import { stripeBench } from "../connectors/stripe-bench.js";
import type { ServiceFault } from "../standins/provider-server.js";
import { expectAgreement } from "./agreement.js";
import { Payer } from "./payer.js";
import { type Service, standingIn } from "./services.js";
import type { Till } from "./till.js";

const HOUR_MS = 3_600_000;

let payer: Payer;
let ahead = 0;
const clock: Clock = { now: () => Date.now() + ahead };
beforeAll(async () => {
  payer = await Payer.open(clock);
});
beforeEach(() => {
  ahead = 0;
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

/** Services that support look-ups and have an approval page. */
const ASKED = [
  ["stripe-card", stripeBench],
  ["checkoutcom-card", checkoutBench],
] as const;
const INTENTS = ["authorize", "capture"] as const;

const lost: ServiceFault = { response: "reset", acted: true };
const CANCELS: readonly ServiceFault[] = [
  { response: 500, acted: false },
  { response: "reset", acted: false },
  { response: 429, acted: false },
];

/** A payment that waits for a buyer. */
async function waiting(service: Service, challenged: string | undefined, intent: (typeof INTENTS)[number]) {
  if (challenged === undefined) throw new Error("the service has no page");
  const till = await payer.connect({ ...service, card: challenged });
  const id = await till.pay(intent);
  const payment = await till.read(id);
  expect(payment.status).toBe("buyer_approval_pending");
  return { till, id, reference: showReconciliationId(payment) };
}

/** The service, with an event between a request that ends an approval and its arrival. */
function meanwhile(bench: Bench, happens: () => Promise<unknown>): Service {
  const { connector } = bench;
  const late: Connector = {
    ...connector,
    void: async (context, request) => {
      await happens();
      return connector.void(context, request);
    },
  };
  return { ...standingIn(bench), connector: late };
}

/** Reconciles a payment as a shop without webhooks does; then our record equals what is held or captured. */
async function expectEnd(till: Till, service: Service, id: Uuid): Promise<string> {
  for (let round = 0; round < 4; round += 1) await till.sync(id);
  const payment = await till.read(id);
  expect([payment.attempt, payment.dueAt]).toEqual([undefined, undefined]);
  await expectAgreement(till, service, payment);
  return payment.status;
}

describe.each(ASKED)("%s, when the approval time is over", (_name, open) => {
  test.each(CANCELS.flatMap((fault) => INTENTS.map((intent) => [String(fault.response), intent, fault] as const)))(
    "a request to call it off that ends in %s leaves it open (%s), and the buyer may still pay",
    async (_a, intent, fault) => {
      await using bench = await open();
      const service = standingIn(bench);
      const { till, id, reference } = await waiting(service, bench.cards.challenged, intent);
      ahead = 2 * HOUR_MS;
      service.fail("void", fault, fault, fault);
      const after = await till.sync(id);
      expect(after.status).toBe("buyer_approval_pending");
      expect(after.dueAt?.getTime()).toBeGreaterThan(clock.now() + 30_000);
      bench.decide(reference, true);
      expect(await expectEnd(till, service, id)).toMatch(
        intent === "capture" ? "capture_succeeded" : "authorization_succeeded",
      );
    },
  );

  test.each(INTENTS)("a buyer who approves just then has paid, or holds nothing (%s)", async (intent) => {
    await using bench = await open();
    let approve = async () => {};
    const service = meanwhile(bench, () => approve());
    const { till, id, reference } = await waiting(service, bench.cards.challenged, intent);
    approve = async () => {
      approve = async () => {};
      bench.decide(reference, true);
    };
    ahead = 2 * HOUR_MS;
    const { status } = await till.sync(id);
    expect(status).toBe(intent === "capture" ? "capture_succeeded" : "authorization_failed");
    for (let round = 0; round < 3; round += 1) await till.sync(id);
    const payment = await till.read(id);
    const moved = await service.moved(reference);
    expect([moved.authorize.length, moved.capture.length + moved.void.length]).toEqual([1, 1]);
    expect(payment.status).toBe(intent === "capture" ? "capture_succeeded" : "authorization_failed");
    expect([payment.attempt, payment.dueAt]).toEqual([undefined, undefined]);
  });

  test("an approval recorded before the request arrives is shown as released with it", async () => {
    await using bench = await open();
    let approve = async () => {};
    const service = meanwhile(bench, () => approve());
    const { till, id, reference } = await waiting(service, bench.cards.challenged, "authorize");
    const statuses: (string | undefined)[] = [];
    approve = async () => {
      statuses.push((await till.comeBack(id, bench.decide(reference, true)))?.status);
    };
    ahead = 2 * HOUR_MS;
    expect((await till.sync(id)).status).toMatch(/^authorization_void/);
    expect(statuses).toEqual(["authorization_succeeded"]);
    expect(await expectEnd(till, service, id)).toBe("authorization_voided");
  });

  test.each(INTENTS)(
    "without any response for a day it fails; a buyer who returns then is not charged (%s)",
    async (intent) => {
      await using bench = await open();
      const service = standingIn(bench);
      const { till, id, reference } = await waiting(service, bench.cards.challenged, intent);
      ahead = 2 * HOUR_MS;
      service.fail("look up", { response: 500, acted: false });
      expect((await till.sync(id)).status).toBe("buyer_approval_pending");
      ahead = 26 * HOUR_MS;
      service.fail("look up", { response: 500, acted: false });
      expect(await till.sync(id)).toMatchObject({
        ...{ status: "authorization_failed", errorCode: "incomplete_buyer_approval", dueAt: undefined },
      });
      await till.comeBack(id, bench.decide(reference, true));
      const end = await expectEnd(till, service, id);
      const { intentOutcome, capturedAmount, refundedAmount } = await till.read(id);
      expect(end).toBe(intent === "capture" ? "capture_succeeded" : "authorization_voided");
      expect([intentOutcome, refundedAmount]).toEqual(["failed", capturedAmount]);
    },
  );
});

test("without any response it is looked up ever less often, and fails after a day", async () => {
  await using bench = await stripeBench();
  const service = standingIn(bench);
  const { till, id } = await waiting(service, bench.cards.challenged, "authorize");
  let payment = await till.read(id);
  const over = (payment.approvalExpiresAt ?? 0) + 24 * HOUR_MS;
  let looks = 0;
  while (payment.dueAt !== undefined && looks < 40) {
    expect(payment.dueAt.getTime()).toBeLessThanOrEqual(over);
    ahead = payment.dueAt.getTime() - Date.now();
    service.fail("look up", { response: 500, acted: false });
    payment = await till.sync(id);
    looks += 1;
  }
  expect(payment).toMatchObject({ status: "authorization_failed", errorCode: "incomplete_buyer_approval" });
  expect(looks).toBeLessThan(30);
});

test("a cancellation whose response is lost is found to have been done", async () => {
  await using bench = await stripeBench();
  const service = standingIn(bench);
  const { till, id } = await waiting(service, bench.cards.challenged, "authorize");
  ahead = 2 * HOUR_MS;
  service.fail("void", lost);
  const after = await till.sync(id);
  expect(after).toMatchObject({ status: "authorization_failed", errorCode: "incomplete_buyer_approval" });
  expect(after.voidedAt).toBeUndefined();
  expect(bench.ledger.movements).toEqual([]);
});

test("stripe gets another key each time, because it repeats its first response to one", async () => {
  await using bench = await stripeBench();
  const service = standingIn(bench);
  const { till, id } = await waiting(service, bench.cards.challenged, "authorize");
  for (const hours of [2, 3, 4]) {
    ahead = hours * HOUR_MS;
    service.fail("void", { response: 500, acted: false });
    await till.sync(id);
  }
  const sent = bench.server.requests.filter(({ path }) => path.endsWith("/cancel"));
  expect(new Set(sent.map(({ headers }) => headers["idempotency-key"])).size).toBe(3);
  ahead = 5 * HOUR_MS;
  expect((await till.sync(id)).status).toBe("authorization_failed");
});

test("adyen-card: the buyer's return to a failed payment is not submitted, because that would charge it", async () => {
  await using bench = await adyenBench();
  const service = standingIn(bench);
  const { till, id, reference } = await waiting(service, bench.cards.challenged, "capture");
  ahead = 2 * HOUR_MS;
  expect((await till.sync(id)).status).toBe("authorization_failed");
  const back = await till.comeBack(id, bench.decide(reference, true));
  expect(back?.status).toBe("authorization_failed");
  expect(bench.ledger.movements).toEqual([]);
});
