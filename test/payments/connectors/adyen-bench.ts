import { adyenConnector } from "../../../src/payments/connectors/adyen/connector.js";
import { AdyenStandIn } from "../standins/adyen.js";
import type { Bench } from "./bench.js";

export async function adyenBench(): Promise<Bench & { readonly standIn: AdyenStandIn }> {
  const standIn = await AdyenStandIn.start();
  const { apiKey, hmacKey, merchantAccount } = standIn;
  return {
    standIn,
    connector: adyenConnector(standIn.server.url),
    server: standIn.server,
    ledger: standIn.ledger,
    fields: { api_key: apiKey, merchant_account: merchantAccount, hmac_key: hmacKey },
    refusedFields: { api_key: "AQEyNobodyHasThisKeyNobodyHasThisKey" },
    secrets: [apiKey, hmacKey],
    routes: {
      authorize: /^POST \/v71\/payments$/,
      capture: /^POST \/v71\/payments\/[^/]+\/captures$/,
      void: /^POST \/v71\/payments\/[^/]+\/cancels$/,
      refund: /^POST \/v71\/payments\/[^/]+\/refunds$/,
    },
    cards: {
      approved: "4111111111111111",
      declined: { number: "4000300011112220", errorCode: "issuer_decline", rawCode: "2" },
      poor: "4000600011112223",
      challenged: "4212345678901237",
    },
    currency: "EUR",
    inexpressible: { amount: 1234, currency: "IDR" },
    decide: (reference, approves) => new URLSearchParams({ redirectResult: standIn.decide(reference, approves) }),
    forgetKeys: () => standIn.forgetKeys(),
    webhooks: () => standIn.takeWebhooks(),
    forged: () => standIn.signed({ ...FORGED, merchantAccountCode: merchantAccount }, "AB".repeat(32)),
    [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose](),
  };
}

const FORGED = {
  amount: { currency: "EUR", value: 1234 },
  eventCode: "AUTHORISATION",
  merchantReference: "0AAAAAAAAAAAAAAAAAAAAA",
  pspReference: "9936178900000001",
  success: "true",
};
