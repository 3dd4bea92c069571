import { checkoutcomConnector } from "../../../src/payments/connectors/checkoutcom/connector.js";
import { CheckoutStandIn } from "../standins/checkout.js";
import type { Bench } from "./bench.js";

export async function checkoutBench(): Promise<Bench & { readonly standIn: CheckoutStandIn }> {
  const standIn = await CheckoutStandIn.start();
  const { secretKey, signatureKey, channel } = standIn;
  return {
    standIn,
    connector: checkoutcomConnector(standIn.server.url),
    server: standIn.server,
    ledger: standIn.ledger,
    fields: { secret_key: secretKey, signature_key: signatureKey, processing_channel_id: channel },
    refusedFields: { secret_key: "sk_sbox_nobodynobodynobodynobodyno2" },
    secrets: [secretKey, signatureKey],
    routes: {
      authorize: /^POST \/payments$/,
      capture: /^POST \/payments\/[^/]+\/captures$/,
      void: /^POST \/payments\/[^/]+\/voids$/,
      refund: /^POST \/payments\/[^/]+\/refunds$/,
    },
    cards: {
      approved: "4543474002249996",
      declined: { number: "4544249167673670", errorCode: "issuer_decline", rawCode: "20005" },
      poor: "4095254802642505",
      challenged: "4242424242424242",
    },
    currency: "EUR",
    decide: (reference, approves) => new URLSearchParams({ "cko-session-id": standIn.decide(reference, approves) }),
    forgetKeys: () => standIn.forgetKeys(),
    webhooks: () => standIn.takeWebhooks(),
    forged: () => standIn.signed({ id: "evt_1", type: "payment_approved", data: { id: "pay_1" } }, "another key"),
    [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose](),
  };
}
