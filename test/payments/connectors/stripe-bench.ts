import { stripeConnector } from "../../../src/payments/connectors/stripe/connector.js";
import { StripeStandIn } from "../standins/stripe.js";
import type { Bench } from "./bench.js";

export async function stripeBench(): Promise<Bench & { readonly standIn: StripeStandIn }> {
  const standIn = await StripeStandIn.start();
  const { secretKey, webhookSecret } = standIn;
  const idOf = (reference: string) => standIn.find(reference) ?? "";
  return {
    standIn,
    connector: stripeConnector(standIn.url),
    server: standIn.server,
    ledger: standIn.ledger,
    fields: { secret_key: secretKey, webhook_secret: webhookSecret },
    refusedFields: { secret_key: "sk_test_51NobodyHasThisKey" },
    secrets: [secretKey, webhookSecret],
    routes: {
      authorize: /^POST \/v1\/payment_intents$/,
      capture: /^POST \/v1\/payment_intents\/[^/]+\/capture$/,
      void: /^POST \/v1\/payment_intents\/[^/]+\/cancel$/,
      refund: /^POST \/v1\/refunds$/,
    },
    cards: {
      approved: "4242424242424242",
      declined: { number: "4000000000000002", errorCode: "issuer_decline", rawCode: "generic_decline" },
      poor: "4000000000009995",
      challenged: "4000000000003220",
    },
    currency: "EUR",
    inexpressible: { amount: 1234, currency: "MGA" },
    decide(reference, approves) {
      standIn.authenticate(idOf(reference), approves);
      return new URLSearchParams({ payment_intent: idOf(reference), redirect_status: "succeeded" });
    },
    forgetKeys: () => standIn.forgetKeys(),
    webhooks: () => standIn.takeWebhooks(),
    forged: () =>
      standIn.signed({ id: "evt_1", type: "payment_intent.succeeded", data: { object: {} } }, "whsec_other"),
    [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose](),
  };
}
