// Computes: 8 s
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Clock } from "../../../src/base/clock.js";
import { showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { agents, type Bench } from "../connectors/bench.js";
import { BENCHES } from "../connectors/benches.js";
import type { ServiceFault } from "../standins/provider-server.js";
import { accountsOf, FIELDS, OTHER } from "./accounts.js";
import { expectAgreement, settle } from "./agreement.js";
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
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

const STEPS = ["authorize", "capture", "refund"] as const;
type Step = (typeof STEPS)[number];

const LOST: ServiceFault = { response: "reset", acted: true };
const SWALLOWED: ServiceFault = { response: "reset", acted: false };

interface Two {
  readonly till: Till;
  readonly service: Service;
  readonly own: Bench;
  readonly other: Bench;
  /** Puts another value into the field that selects the account, or into the key. */
  turn(field: "account" | "key", value: string): Promise<void>;
  turnBack(): Promise<void>;
}

async function withTwo(open: () => Promise<Bench>, run: (two: Two) => Promise<void>): Promise<void> {
  await using own = await open();
  await using other = await open();
  const service = { ...standingIn(own), connector: accountsOf(own, other) };
  const till = await payer.connect(service);
  const names = FIELDS[own.connector.formulaId] ?? { account: "", key: "" };
  await run({
    ...{ till, service, own, other },
    turn: (field, value) => till.refit({ ...own.fields, [names[field]]: value }),
    turnBack: () => till.refit(own.fields),
  });
}

/** Reaches a payment whose step was sent, with a lost response. */
async function unknownAt({ till, service }: Two, kind: Step, fault: ServiceFault) {
  if (kind === "authorize") {
    service.fail(kind, fault);
    return till.pay("authorize");
  }
  const id = await till.pay(kind === "refund" ? "capture" : "authorize");
  await settle(till, id);
  service.fail(kind, fault);
  await till.follow(id, kind);
  return id;
}

const MATRIX = BENCHES.flatMap(([name, open]) => STEPS.map((step) => [name, step, open] as const));
/** Authorize.net's requests all look the same from outside: a refund starts with a look-up. */
const REACHED = MATRIX.filter(([name, step]) => name !== "authorizenet-card" || step !== "refund");

describe("a connection that is switched to another account", () => {
  test.each(REACHED)(
    "%s, %s: nothing is resent to the other account, and its look-ups are ignored",
    (_name, step, open) =>
      withTwo(open, async (two) => {
        const { till, service, other } = two;
        const id = await unknownAt(two, step, LOST);
        const before = await till.read(id);
        await two.turn("account", OTHER);
        for (let look = 0; look < 3; look += 1) await till.sync(id);
        expect(other.ledger.movements).toEqual([]);
        const now = await till.read(id);
        expect([now.status, now.attempt?.key, now.errorCode]).toEqual([before.status, before.attempt?.key, undefined]);

        await two.turnBack();
        await expectAgreement(till, service, await settle(till, id));
      }),
  );
});

/** Those with their own approval page. */
const APPROVED_THERE = BENCHES.filter(([name]) => name !== "authorizenet-card");

describe("a buyer's approval while the connection leads to another account", () => {
  test.each(APPROVED_THERE)(
    "%s: does not fail because of that account's response, and counts in its own",
    (_name, open) =>
      withTwo(open, async ({ till, own, other, turn, turnBack }) => {
        ahead = 0;
        const id = await till.pay("authorize", "on", own.cards.challenged);
        await turn("account", OTHER);
        ahead = 2 * HOUR_MS;
        for (let look = 0; look < 2; look += 1) await till.sync(id);
        expect((await till.read(id)).status).toBe("buyer_approval_pending");
        expect(other.server.requests.filter(({ method }) => method !== "GET")).toEqual([]);

        await turnBack();
        ahead = 0;
        const query = own.decide(showReconciliationId(await till.read(id)), true);
        expect((await till.comeBack(id, query))?.status).toBe("authorization_succeeded");
      }),
  );
});

describe("a connection whose key was renewed", () => {
  test.each(REACHED)("%s, %s: what arrived is found with it", (_name, step, open) =>
    withTwo(open, async (two) => {
      const { till, service } = two;
      const id = await unknownAt(two, step, LOST);
      await two.turn("key", "aRenewedKeyOfTheSameAccount");
      await expectAgreement(till, service, await settle(till, id));
    }),
  );

  test.each(REACHED.filter(([, step]) => step !== "authorize"))(
    "%s, %s: what did not arrive is sent with it, once the payment is found",
    (_name, step, open) =>
      withTwo(open, async (two) => {
        const { till, service } = two;
        const id = await unknownAt(two, step, SWALLOWED);
        await two.turn("key", "aRenewedKeyOfTheSameAccount");
        const payment = await settle(till, id);
        await expectAgreement(till, service, payment);
        const { [step]: moved } = await service.moved(showReconciliationId(payment));
        expect(moved).toEqual([500]);
      }),
  );
});
