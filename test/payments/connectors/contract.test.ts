import { afterAll, describe, expect, test } from "vitest";
import type { PaymentState } from "../../../src/payments/contract/outcome.js";
import type { PaymentReference } from "../../../src/payments/contract/payment-request.js";
import { agents, authorization, type Bench, card, contextOf, newReference } from "./bench.js";
import { BENCHES } from "./benches.js";
import { settle, settleFollowUp } from "./reconcile.js";

afterAll(() => agents.close());

describe.each(BENCHES)("%s", (_name, open) => {
  /** Runs with its own stand-in, and then looks for secrets in everything that the connector returned. */
  async function withBench(run: (bench: Bench, told: (outcome: unknown) => void) => Promise<void>): Promise<void> {
    await using bench = await open();
    const outcomes: unknown[] = [];
    await run(bench, (outcome) => outcomes.push(outcome));
    const text = JSON.stringify(outcomes);
    const { approved, declined, poor, challenged } = bench.cards;
    const numbers = [approved, declined.number, poor, challenged].filter((number) => number !== undefined);
    for (const secret of [...bench.secrets, ...numbers]) {
      expect(text).not.toContain(secret);
    }
  }

  async function authorized(bench: Bench, intent: "authorize" | "capture" = "authorize") {
    const request = authorization(bench, { intent });
    const state = await settle(bench, request);
    const payment = paymentOf(request, state);
    return { request, state, payment };
  }

  test("authorizes: money is held once, none is taken", () =>
    withBench(async (bench, told) => {
      const request = authorization(bench);
      const outcome = await bench.connector.authorize(contextOf(bench), request);
      told(outcome);
      expect(outcome).toMatchObject({ kind: "authorized", amount: 1234, providerId: expect.stringMatching(/./) });
      expect(outcome.codes).toMatchObject({ authResponseCode: "00", cvv: "match" });
      expect(bench.ledger.movements).toMatchObject([
        { kind: "authorize", amount: 1234, reference: request.reconciliationId },
      ]);
    }));

  test("charges at once if the intent is capture", () =>
    withBench(async (bench, told) => {
      const { request, state } = await authorized(bench, "capture");
      told(state);
      expect(state).toMatchObject({ kind: "captured", amount: 1234 });
      expect(bench.ledger.total(request.reconciliationId, "capture")).toBe(1234);
    }));

  test("captures a part, and the ledger has that part", () =>
    withBench(async (bench, told) => {
      const { request, payment } = await authorized(bench);
      const outcome = await settleFollowUp(bench, "capture", payment, 1000);
      told(outcome);
      expect(outcome).toMatchObject({ kind: "done", amount: 1000 });
      expect(bench.ledger.total(request.reconciliationId, "capture")).toBe(1000);
    }));

  test("refuses to capture more than was authorized", () =>
    withBench(async (bench, told) => {
      const { request, payment } = await authorized(bench);
      const outcome = await settleFollowUp(bench, "capture", payment, 5000);
      told(outcome);
      expect(outcome).toMatchObject({ kind: "refused", errorCode: "invalid_amount" });
      expect(bench.ledger.total(request.reconciliationId, "capture")).toBe(0);
    }));

  test("voids what was authorized", () =>
    withBench(async (bench, told) => {
      const { request, payment } = await authorized(bench);
      const outcome = await settleFollowUp(bench, "void", payment);
      told(outcome);
      expect(outcome).toMatchObject({ kind: "done" });
      expect(bench.ledger.of(request.reconciliationId, "void")).toHaveLength(1);
    }));

  test("refuses to void what was captured, and to capture what was voided", () =>
    withBench(async (bench, told) => {
      const captured = await authorized(bench, "capture");
      const voided = await authorized(bench);
      await settleFollowUp(bench, "void", voided.payment);
      const outcomes = [
        await settleFollowUp(bench, "void", captured.payment),
        await settleFollowUp(bench, "capture", voided.payment, 1234),
      ];
      told(outcomes);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["refused", "refused"]);
      expect(bench.ledger.of(captured.request.reconciliationId, "void")).toEqual([]);
      expect(bench.ledger.of(voided.request.reconciliationId, "capture")).toEqual([]);
    }));

  test("refunds a part of what was captured", () =>
    withBench(async (bench, told) => {
      const { request, payment } = await authorized(bench, "capture");
      const outcome = await settleFollowUp(bench, "refund", payment, 234);
      told(outcome);
      expect(outcome).toMatchObject({ kind: "done" });
      expect(bench.ledger.total(request.reconciliationId, "refund")).toBe(234);
    }));

  test("reports why a card was declined, in our words and in the service's", () =>
    withBench(async (bench, told) => {
      const { number, errorCode, rawCode } = bench.cards.declined;
      const outcomes = [
        await bench.connector.authorize(contextOf(bench), authorization(bench, { card: card(number) })),
      ];
      const { poor } = bench.cards;
      if (poor !== undefined) {
        outcomes.push(await bench.connector.authorize(contextOf(bench), authorization(bench, { card: card(poor) })));
        expect(outcomes[1]).toMatchObject({ kind: "declined", errorCode: "insufficient_funds" });
      }
      told(outcomes);
      expect(outcomes[0]).toMatchObject({ kind: "declined", errorCode, codes: { rawCode } });
      expect(outcomes[0]?.codes.rawDescription).toMatch(/\w/);
      expect(bench.ledger.movements).toEqual([]);
    }));

  test("one idempotency key moves money once", () =>
    withBench(async (bench, told) => {
      const request = authorization(bench, { intent: "capture" });
      const outcomes = [await settle(bench, request), await settle(bench, request)];
      told(outcomes);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["captured", "captured"]);
      expect(bench.ledger.of(request.reconciliationId, "capture")).toHaveLength(1);
      expect(bench.ledger.of(request.reconciliationId, "authorize")).toHaveLength(1);
    }));

  test("never sends a cvc in merchant-initiated payments, and says that none was provided", () =>
    withBench(async (bench, told) => {
      const merchant = { isMerchantInitiated: true, paymentSource: "recurring", isSubsequentPayment: true } as const;
      const request = authorization(bench, { ...merchant, previousSchemeTransactionId: "123456789012345" });
      const outcome = await bench.connector.authorize(contextOf(bench), request);
      told(outcome);
      expect(outcome).toMatchObject({ kind: "authorized", codes: { cvv: "not_provided" } });
      // A number of its own: random references contain the same digits now and then.
      const cvc = /\b737\b/;
      const bodies = () => bench.server.requests.map(({ body }) => body).join();
      expect(bodies()).not.toMatch(cvc);
      told(await bench.connector.authorize(contextOf(bench), authorization(bench)));
      expect(bodies()).toMatch(cvc);
    }));

  test("a missing approval needs the buyer, who decides", () =>
    withBench(async (bench, told) => {
      const { challenged } = bench.cards;
      if (challenged === undefined) {
        expect(bench.connector.formulaId).toBe("authorizenet-card");
        return;
      }
      for (const approves of [true, false]) {
        const request = authorization(bench, { card: card(challenged) });
        const first = await bench.connector.authorize(contextOf(bench), request);
        expect(first).toMatchObject({ kind: "redirect", approvalUrl: expect.stringMatching(/^https?:/) });
        expect(bench.ledger.of(request.reconciliationId, "authorize")).toEqual([]);
        const query = bench.decide(request.reconciliationId, approves);
        const payment = paymentOf(request, first);
        const finished = await bench.connector.finishApproval(contextOf(bench), { payment, query });
        told([first, finished]);
        expect(finished).toMatchObject({
          kind: "found",
          state: approves
            ? { kind: "authorized", amount: 1234, threeDS: { status: "complete" } }
            : { kind: "declined", errorCode: "failed_buyer_approval", threeDS: { status: "declined" } },
        });
        expect(bench.ledger.of(request.reconciliationId, "authorize")).toHaveLength(approves ? 1 : 0);
      }
    }));

  test("passes on the outcome of a 3DS session, and then needs no approval", () =>
    withBench(async (bench, told) => {
      const threeDS = {
        version: "2.2.0",
        authenticationValue: "AAABBBCCCDDDEEEFFFGGGHHHIII=",
        eci: "05",
        dsTransactionId: "c4e59ceb-a382-4d6a-bc87-385d591fa09d",
        directoryStatus: "C",
        authenticationStatus: "Y",
        statusReason: undefined,
        method: "challenge",
      } as const;
      const number = bench.cards.challenged ?? bench.cards.approved;
      const outcome = await bench.connector.authorize(
        contextOf(bench),
        authorization(bench, { threeDS, card: card(number) }),
      );
      told(outcome);
      expect(outcome).toMatchObject({ kind: "authorized" });
      expect(decodeURIComponent(bench.server.requests[0]?.body ?? "")).toContain(threeDS.authenticationValue);
    }));

  test("looks up a payment, if the service supports that", () =>
    withBench(async (bench, told) => {
      const { payment } = await authorized(bench);
      const byId = await bench.connector.lookUp(contextOf(bench), payment);
      const byReference = await bench.connector.lookUp(contextOf(bench), { ...payment, providerId: undefined });
      const other = { ...payment, reconciliationId: newReference(), providerId: undefined };
      const absent = await bench.connector.lookUp(contextOf(bench), other);
      told([byId, byReference, absent]);
      if (byId.kind === "unsupported") {
        expect(bench.connector.formulaId).toBe("adyen-card");
        return;
      }
      for (const found of [byId, byReference]) {
        expect(found).toMatchObject({
          kind: "found",
          state: { kind: "authorized", providerId: payment.providerId },
        });
      }
      expect(absent).toEqual({ kind: "absent" });
    }));

  test("checks credentials without touching money", () =>
    withBench(async (bench, told) => {
      const outcomes = [
        await bench.connector.checkCredentials(contextOf(bench)),
        await bench.connector.checkCredentials(contextOf(bench, { ...bench.fields, ...bench.refusedFields })),
      ];
      bench.server.fail(/./, { response: 500, acted: false });
      outcomes.push(await bench.connector.checkCredentials(contextOf(bench)));
      bench.server.fail(/./, { response: "reset", acted: false });
      outcomes.push(await bench.connector.checkCredentials(contextOf(bench)));
      told(outcomes);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["accepted", "refused", "unclear", "unclear"]);
      expect(bench.ledger.movements).toEqual([]);
    }));

  test("rejected credentials at an authorization are named as the cause", () =>
    withBench(async (bench, told) => {
      const context = contextOf(bench, { ...bench.fields, ...bench.refusedFields });
      const outcome = await bench.connector.authorize(context, authorization(bench));
      told([outcome, Object.values(bench.refusedFields)]);
      expect(outcome).toMatchObject({ kind: "failed", errorCode: "invalid_service_credentials" });
      for (const secret of Object.values(bench.refusedFields)) expect(JSON.stringify(outcome)).not.toContain(secret);
    }));

  test("rejects an amount that it cannot express, without a call", () =>
    withBench(async (bench, told) => {
      const outcome = await bench.connector.authorize(
        contextOf(bench),
        authorization(bench, { money: bench.inexpressible ?? { amount: 1234, currency: "XXX" } }),
      );
      told(outcome);
      expect(outcome).toMatchObject({ kind: "failed", errorCode: "invalid_amount" });
      expect(bench.server.requests).toEqual([]);
    }));

  test("accepts webhooks that the service signed, and no others", () =>
    withBench(async (bench, told) => {
      const request = authorization(bench, { intent: "capture" });
      await bench.connector.authorize(contextOf(bench), request);
      const [delivery] = bench.webhooks();
      if (!delivery) throw new Error("there is no webhook");
      const context = contextOf(bench);
      const reading = bench.connector.readWebhook(context, delivery);
      told(reading);
      if (reading.kind !== "verified") throw new Error("not verified");
      const [event] = reading.events;
      expect([event?.payment.reconciliationId, event?.payment.providerId].filter(Boolean)).not.toEqual([]);
      expect(event?.payment.reconciliationId ?? request.reconciliationId).toBe(request.reconciliationId);
      expect(bench.connector.readWebhook(context, delivery)).toEqual(reading);

      const altered = { ...delivery, body: Buffer.from(delivery.body.toString().replaceAll("1234", "9934")) };
      const unsigned = { ...delivery, headers: {} };
      const { [secretField(bench)]: _, ...withoutSecret } = bench.fields;
      expect(bench.connector.readWebhook(context, altered).kind).toBe("unverified");
      expect(bench.connector.readWebhook(context, bench.forged()).kind).toBe("unverified");
      expect(bench.connector.readWebhook(contextOf(bench, withoutSecret), delivery).kind).toBe("unverified");
      if (bench.connector.formulaId !== "adyen-card") {
        expect(bench.connector.readWebhook(context, unsigned).kind).toBe("unverified");
      }
    }));
});

const SECRET_FIELDS: Readonly<Record<string, string>> = {
  "stripe-card": "webhook_secret",
  "adyen-card": "hmac_key",
  "checkoutcom-card": "signature_key",
  "authorizenet-card": "signature_key",
  "simulator-card": "webhook_secret",
};

function secretField(bench: Bench): string {
  return SECRET_FIELDS[bench.connector.formulaId] ?? "";
}

function paymentOf(
  { reconciliationId, money, intent }: ReturnType<typeof authorization>,
  state: { readonly kind: string } | PaymentState,
): PaymentReference & { readonly providerId: string } {
  const providerId = "providerId" in state ? state.providerId : undefined;
  if (providerId === undefined) throw new Error("the service named no id");
  return { reconciliationId, money, intent, providerId };
}
