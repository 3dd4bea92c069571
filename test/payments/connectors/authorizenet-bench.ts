import { authorizenetConnector } from "../../../src/payments/connectors/authorizenet/connector.js";
import { AuthorizenetStandIn } from "../standins/authorizenet.js";
import type { Bench } from "./bench.js";

const ENDPOINT = /^POST \/xml\/v1\/request\.api$/;

export async function authorizenetBench(): Promise<Bench & { readonly standIn: AuthorizenetStandIn }> {
  const standIn = await AuthorizenetStandIn.start();
  const { login, transactionKey, signatureKey } = standIn;
  return {
    standIn,
    connector: authorizenetConnector(standIn.server.url),
    server: standIn.server,
    ledger: standIn.ledger,
    fields: { merchant_account_id: login, transaction_key: transactionKey, signature_key: signatureKey },
    refusedFields: { transaction_key: "nobodysKey123456" },
    secrets: [transactionKey, signatureKey],
    routes: { authorize: ENDPOINT, capture: ENDPOINT, void: ENDPOINT, refund: ENDPOINT },
    cards: {
      approved: "4111111111111111",
      declined: { number: "4222222222222", errorCode: "issuer_decline", rawCode: "2" },
    },
    currency: "USD",
    decide: () => new URLSearchParams(),
    forgetKeys: () => standIn.forgetKeys(),
    webhooks: () => standIn.takeWebhooks(),
    forged: () =>
      standIn.signed(
        { notificationId: "1", eventType: "net.authorize.payment.void.created", payload: {} },
        "AB".repeat(64),
      ),
    [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose](),
  };
}
