import { afterAll, expect, test } from "vitest";
import { APIContracts, Checkout, type Contract, Stripe } from "../../../packages/oracles/index.js";
import type { Json } from "../../../src/base/json.js";
import { readForm } from "../standins/form.js";
import { authorizenetBench } from "./authorizenet-bench.js";
import { agents, authorization, type Bench, contextOf } from "./bench.js";
import { checkoutBench } from "./checkout-bench.js";
import { stripeBench } from "./stripe-bench.js";

afterAll(() => agents.close());

/** The bodies of the requests so far. */
function bodies(bench: Bench): string[] {
  return bench.server.requests.map(({ body }) => body);
}

/** Sends a payment, a capture, a void and a refund with our connector. Returns the ids of the two payments. */
async function sendOurs(bench: Bench) {
  const held = authorization(bench, { externalIdentifier: "order-1", metadata: { basket: "42" } });
  const sold = authorization(bench, { intent: "capture" });
  const ids: string[] = [];
  for (const request of [held, sold, authorization(bench)]) {
    const outcome = await bench.connector.authorize(contextOf(bench), request);
    ids.push(("providerId" in outcome && outcome.providerId) || "");
  }
  const [first = "", second = "", third = ""] = ids;
  const money = { amount: 1000, currency: bench.currency };
  const keyed = { idempotencyKey: "key-of-the-follow-up" };
  await bench.connector.capture(contextOf(bench), { ...keyed, payment: { ...held, providerId: first }, money });
  await bench.connector.void(contextOf(bench), { idempotencyKey: "key-2", payment: { ...held, providerId: third } });
  const reference = "0123456789abcdefghijkl";
  const payment = { ...sold, providerId: second };
  await bench.connector.refund(contextOf(bench), {
    idempotencyKey: "key-3",
    payment,
    reference,
    money,
    reason: undefined,
  });
  return { held, first, second, third, reference };
}

test("Stripe's own client sends the same as our connector, and its webhook check accepts our stand-in's signature", async () => {
  await using bench = await stripeBench();
  const { held, first, second, third, reference } = await sendOurs(bench);
  const ours = bodies(bench).splice(0);
  const { port } = new URL(bench.server.url);
  const client = new Stripe(bench.standIn.secretKey, {
    host: "127.0.0.1",
    port,
    protocol: "http",
    telemetry: false,
    maxNetworkRetries: 0,
  });
  const expand = ["latest_charge"];
  const intent = await client.paymentIntents.create(
    {
      amount: 1234,
      currency: "eur",
      confirm: true,
      capture_method: "manual",
      allowed_payment_method_types: ["card"],
      // The published types omit card numbers, which need a special agreement.
      payment_method_data: Object({
        type: "card",
        card: { number: "4242424242424242", exp_month: 3, exp_year: 2030, cvc: "737" },
      }),
      payment_method_options: { card: { request_three_d_secure: "automatic" } },
      return_url: held.returnUrl,
      metadata: { reconciliation_id: held.reconciliationId, external_identifier: "order-1", basket: "42" },
      expand,
    },
    { idempotencyKey: "another" },
  );
  expect(intent.status).toBe("requires_capture");
  const swallowed = () => undefined;
  await client.paymentIntents.capture(first, { amount_to_capture: 1000, expand }).catch(swallowed);
  await client.paymentIntents.cancel(third, { cancellation_reason: "requested_by_customer", expand }).catch(swallowed);
  await client.refunds.create({ payment_intent: second, amount: 1000, metadata: { reference } }).catch(swallowed);
  const theirs = bench.server.requests.slice(ours.length);
  const paths = bench.server.requests.slice(0, ours.length).map(({ path }) => path);
  // The client sends the first of our three payments.
  const comparable = [0, 3, 4, 5];
  expect(theirs.map(({ path }) => path)).toEqual(comparable.map((index) => paths[index]));
  expect(theirs.map(({ body }) => readForm(body))).toEqual(comparable.map((index) => readForm(ours[index] ?? "")));
  expect(theirs[0]?.headers["stripe-version"]).toBe(bench.server.requests[0]?.headers["stripe-version"]);

  const [delivery] = bench.webhooks();
  const event = Stripe.webhooks.constructEvent(
    delivery?.body ?? "",
    delivery?.headers["stripe-signature"] ?? "",
    bench.standIn.webhookSecret,
  );
  expect(event.object).toBe("event");
});

test("Checkout.com's own client sends the same as our connector", async () => {
  await using bench = await checkoutBench();
  const { held, first, second, third, reference } = await sendOurs(bench);
  const ours = [...bench.server.requests];
  const client = new Checkout(bench.standIn.secretKey, { host: bench.server.url });
  const payment = {
    source: { type: "card", number: "4543474002249996", expiry_month: 3, expiry_year: 2030, cvv: "737" },
    amount: 1234,
    currency: "EUR",
    capture: false,
    reference: held.reconciliationId,
    payment_type: "Regular",
    merchant_initiated: false,
    "3ds": { enabled: true, attempt_n3d: true },
    processing_channel_id: bench.standIn.channel,
    success_url: held.returnUrl,
    failure_url: held.returnUrl,
    metadata: { external_identifier: "order-1", basket: "42" },
  };
  const swallowed = () => undefined;
  await client.payments.request(payment, "another");
  const capture = { amount: 1000, reference: held.reconciliationId, capture_type: "Final" };
  await client.payments.capture(first, capture, "another-2").catch(swallowed);
  await client.payments.void(third, { reference: held.reconciliationId }, "another-3").catch(swallowed);
  await client.payments.refund(second, { amount: 1000, reference }, "another-4").catch(swallowed);
  const theirs = bench.server.requests.slice(ours.length);
  const comparable = [0, 3, 4, 5].flatMap((index) => ours[index] ?? []);
  const json = ({ path, body }: { path: string; body: string }): [string, Json] => [path, JSON.parse(body)];
  expect(theirs.map(json)).toEqual(comparable.map(json));
  expect(theirs.map(({ headers }) => headers.authorization)).toEqual(
    comparable.map(({ headers }) => headers.authorization),
  );
  expect(theirs.map(({ headers }) => headers["cko-idempotency-key"])).toEqual([
    "another",
    "another-2",
    "another-3",
    "another-4",
  ]);
});

test("Authorize.net's own client writes the same payment, element for element in the same order", async () => {
  await using bench = await authorizenetBench();
  const request = authorization(bench, { paymentSource: "recurring", isSubsequentPayment: true });
  await bench.connector.authorize(contextOf(bench), request);
  const make = (type: string, values: Readonly<Record<string, unknown>>): Contract => {
    const Type = APIContracts[type];
    if (!Type) throw new Error(`the client has no ${type}`);
    const made = new Type();
    for (const [name, value] of Object.entries(values)) made[`set${name}`]?.(value);
    return made;
  };
  const setting = (SettingName: string, SettingValue: string) => make("SettingType", { SettingName, SettingValue });
  const call = make("CreateTransactionRequest", {
    MerchantAuthentication: make("MerchantAuthenticationType", {
      TransactionKey: bench.standIn.transactionKey,
      Name: bench.standIn.login,
    }),
    TransactionRequest: make("TransactionRequestType", {
      // Deliberately out of order: the client sorts by the schema.
      ProcessingOptions: make("ProcessingOptions", { IsStoredCredentials: true, IsSubsequentAuth: true }),
      TransactionSettings: make("ArrayOfSetting", {
        Setting: [setting("duplicateWindow", "28800"), setting("recurringBilling", "true")],
      }),
      Order: make("OrderType", {
        Description: request.reconciliationId,
        InvoiceNumber: request.reconciliationId.slice(-20),
      }),
      Payment: make("PaymentType", {
        CreditCard: make("CreditCardType", {
          CardNumber: "4111111111111111",
          ExpirationDate: "2030-03",
          CardCode: "737",
        }),
      }),
      CurrencyCode: "USD",
      Amount: "12.34",
      TransactionType: "authOnlyTransaction",
    }),
    RefId: request.reconciliationId.slice(-20),
  });
  expect(withoutNulls(JSON.parse(bodies(bench)[0] ?? ""))).toBe(
    withoutNulls(JSON.parse(JSON.stringify(call.getJSON()))),
  );
});

/** As text, so the order counts. The client writes unset fields as null. */
function withoutNulls(value: Json): string {
  return JSON.stringify(value, (_key, each: Json) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).filter(([, inner]) => inner !== null))
      : each,
  );
}
