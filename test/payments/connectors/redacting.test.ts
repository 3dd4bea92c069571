import { expect, test } from "vitest";
import { newTenantId } from "../../../src/base/ids.js";
import { Sensitive } from "../../../src/crypto/sensitive.js";
import { FORMULAS, realConnectors } from "../../../src/payments/connections/providers.js";
import type { ConnectorContext } from "../../../src/payments/contract/connector.js";
import { authorization, card } from "./bench.js";
import { stripeBench } from "./stripe-bench.js";

const NUMBER = "4111111111111111";
const SECRET = "sk_test_veryverysecretindeed";
const FIELDS = ["secret_key", "api_key", "merchant_account", "merchant_account_id", "transaction_key"];
const QUOTING = `The card 4111 1111 1111 1111 (${NUMBER}, code 913) was refused for key ${SECRET}; see 4111-1111-1111-1111.`;

const RESPONSES = [
  [400, { error: { type: "invalid_request_error", code: QUOTING, message: QUOTING } }],
  [402, { error: { type: "card_error", code: "card_declined", decline_code: QUOTING, message: QUOTING } }],
  [422, { errorCode: QUOTING, message: QUOTING, error_type: QUOTING, error_codes: [QUOTING] }],
  [
    200,
    { pspReference: "1", resultCode: "Refused", refusalReason: QUOTING, additionalData: { refusalReasonRaw: QUOTING } },
  ],
  [201, { id: "pay_1", status: "Declined", response_code: "20005", response_summary: QUOTING }],
  [200, { messages: { resultCode: "Error", message: [{ code: "E00003", text: QUOTING }] } }],
  [200, { transactionResponse: { responseCode: "3", errors: [{ errorCode: QUOTING, errorText: QUOTING }] } }],
] as const;

const CONNECTORS = realConnectors(new Map()).map((connector) => [connector.formulaId, connector] as const);

test("every formula except the simulator has a connector here", () => {
  const ids = FORMULAS.map(({ id }) => id).filter((id) => id !== "simulator-card");
  expect(CONNECTORS.map(([id]) => id)).toEqual(ids);
});

test.each(CONNECTORS)("%s repeats no secret that its service quotes", async (_id, connector) => {
  await using bench = await stripeBench();
  for (const [status, body] of RESPONSES) {
    const context: ConnectorContext = {
      tenantId: newTenantId(),
      fields: new Map(FIELDS.map((field) => [field, new Sensitive(SECRET)])),
      now: new Date(),
      send: async () => ({
        kind: "responded",
        response: { status, header: () => undefined, text: JSON.stringify(body) },
      }),
    };
    const outcome = await connector.authorize(
      context,
      authorization(bench, { card: card(NUMBER, { cvc: "913" }), money: { amount: 1234, currency: "USD" } }),
    );
    const text = JSON.stringify(outcome);
    expect(text).not.toMatch(/4111[ -]?1111|\b913\b|verysecret/);
    for (const [, raw = ""] of text.matchAll(/"raw\w+":"([^"]*)"/g)) expect(raw.length).toBeLessThanOrEqual(200);
  }
});
