import type { MethodExamples } from "./examples.js";

const CARD_TOKEN_ID = "01980f70-1a2b-7c4d-9e5f-60718293a4b5";
const CONNECTION_ID = "01980f72-0b1c-7d2e-8f3a-4b5c6d7e8f90";

const connection = {
  stripe: {
    summary: "An account at a payment service",
    value: {
      connection_formula_id: "stripe",
      method: "card",
      display_name: "Stripe, Europe",
      fields: [{ key: "secret_key", value: "sk_test_example" }],
      accepted_countries: ["DE", "FR"],
      accepted_currencies: ["EUR"],
    },
  },
};

/** Examples of people and payments, by the name of the method. */
export const PEOPLE_AND_PAYMENT_EXAMPLES: Readonly<Record<string, MethodExamples>> = {
  CreateInvitation: {
    request: {
      auditor: { summary: "Someone who reads the log", value: { email: "auditor@example.com", role: "AUDITOR" } },
      developer: {
        summary: "Someone whose applications may use one container",
        value: { email: "developer@example.com", role: "DEVELOPER", containers: ["/test/"] },
      },
    },
  },
  UpdateMember: { request: { admin: { summary: "Gives another role", value: { role: "ADMIN" } } } },
  UpdateTenant: {
    request: {
      settings: { summary: "Asks for a reason", value: { name: "Shop", settings: { require_reveal_reason: "true" } } },
    },
  },
  CreateConnection: { request: connection },
  ReplaceConnection: { request: connection },
  CreateTransaction: {
    request: {
      authorize: {
        summary: "Authorizes 25.00 EUR",
        value: {
          amount: 2500,
          currency: "EUR",
          connection_id: CONNECTION_ID,
          token: CARD_TOKEN_ID,
          country: "DE",
          external_identifier: "order-17",
        },
      },
    },
  },
  CaptureTransaction: { request: { part: { summary: "A part of what was authorized", value: { amount: 1000 } } } },
  CreateRefund: {
    request: { part: { summary: "A part of what was captured", value: { amount: 500, reason: "returned" } } },
  },
  CreateThreeDSSession: { request: { card: { summary: "For a card token", value: { token_id: CARD_TOKEN_ID } } } },
  AuthenticateThreeDSSession: {
    request: {
      payment: {
        summary: "Before a payment",
        value: {
          authentication_category: "payment",
          authentication_type: "payment-transaction",
          purchase_info: { amount: "2500", currency: "978", exponent: "2", date: "20300108120000" },
          cardholder_info: { name: "Jane Doe", email: "jane@example.com" },
        },
      },
    },
  },
};
