import type { JsonObject } from "../../src/base/json.js";
import { CODE_EXAMPLES } from "./code-examples.js";
import { PEOPLE_AND_PAYMENT_EXAMPLES } from "./people-and-payment-examples.js";

/** Named examples of a method's request and of its success. All numbers are published test numbers. */
export interface MethodExamples {
  readonly request?: JsonObject;
  readonly response?: JsonObject;
}

const TENANT_ID = "01980f6e-2b1a-7c3d-9e4f-5a6b7c8d9e0f";
const APPLICATION_ID = "01980f6e-3c2b-7d4e-8f50-6b7c8d9e0f1a";
const CARD_TOKEN_ID = "01980f70-1a2b-7c4d-9e5f-60718293a4b5";
const TEXT_TOKEN_ID = "01980f71-5e6f-7081-92a3-b4c5d6e7f809";

const CARD_MASK = { number: "XXXXXXXXXXXX4242", expiration_month: 12, expiration_year: 2030 };

const WEBHOOK = {
  tokens: {
    summary: "Tokens that are made and deleted",
    value: {
      name: "Order service",
      url: "https://orders.example.com/vault-events",
      events: ["token.created", "token.deleted"],
    },
  },
};

const CARD_TOKEN = {
  id: CARD_TOKEN_ID,
  tenant_id: TENANT_ID,
  type: "card",
  data: CARD_MASK,
  mask: CARD_MASK,
  fingerprint_expression: "{{ data.number }}",
  containers: ["/pci/high/"],
  card: { bin: "42424242", last4: "4242", expiration_month: 12, expiration_year: 2030, brand: "visa" },
  created_by: APPLICATION_ID,
  created_at: "2029-12-31T23:59:59.123Z",
  _extras: { deduplicated: false },
};

/** By the name of the method. */
export const EXAMPLES: Readonly<Record<string, MethodExamples>> = {
  ...CODE_EXAMPLES,
  ...PEOPLE_AND_PAYMENT_EXAMPLES,
  ImportTokens: {
    request: {
      cards: {
        summary: "The first two rows of a file",
        value: {
          import_id: "cards-2029-12-31",
          position: 1,
          rows: [
            {
              type: "card",
              data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 },
              metadata: { customer: "c-1042" },
            },
            { type: "card", data: { number: "5555555555554444", expiration_month: 3, expiration_year: 2031 } },
          ],
        },
      },
    },
  },
  CreateWebhook: { request: WEBHOOK },
  ReplaceWebhook: { request: WEBHOOK },
  CreateToken: {
    request: {
      card: {
        summary: "A card",
        value: {
          type: "card",
          data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" },
          metadata: { customer: "c-1042" },
        },
      },
      bank: {
        summary: "A bank account, found again by its last four digits",
        value: {
          type: "bank",
          data: { routing_number: "021000021", account_number: "00012345678" },
          search_indexes: ["{{ data.account_number | last4 }}"],
        },
      },
      token: {
        summary: "Any other value, under an id of its own and for a week only",
        value: {
          type: "token",
          id: "passport-{{ data | last4 }}",
          data: "X00000412",
          mask: "{{ data | reveal_last: 3 }}",
          containers: ["/customers/"],
          expires_at: "2030-01-08T00:00:00+00:00",
        },
      },
    },
    response: {
      card: {
        summary: "The card's token, masked",
        value: { ...CARD_TOKEN, metadata: { customer: "c-1042" } },
      },
    },
  },
  UpdateToken: {
    request: {
      metadata: {
        summary: "Sets one metadata entry, deletes another, and clears the expiry",
        value: { metadata: { customer: "c-2077", note: null }, expires_at: null },
      },
    },
  },
  SearchTokens: {
    request: {
      metadata: { summary: "By metadata", value: { query: 'metadata.customer:"c-1042"', page: 1, size: 20 } },
    },
  },
  SearchTokensByCursor: {
    request: {
      last4: { summary: "By a search index", value: { query: 'type:card AND data:"4242"', size: 20 } },
    },
  },
  Tokenize: {
    request: {
      nested: {
        summary: "Typed items and plain values in one document",
        value: {
          name: "Jane Doe",
          card: {
            type: "card",
            data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 },
          },
          visits: [3, 5],
        },
      },
    },
    response: {
      nested: {
        summary: "The same document, with tokens for its values",
        value: {
          name: TEXT_TOKEN_ID,
          card: CARD_TOKEN,
          visits: ["01980f71-6a7b-7c8d-9eaf-b0c1d2e3f405", "01980f71-6a7b-7c8d-9eaf-b0c1d2e3f406"],
        },
      },
    },
  },
  Detokenize: {
    request: {
      expressions: {
        summary: "A whole value and a part of one",
        value: { name: `{{ ${TEXT_TOKEN_ID} }}`, last4: `{{ ${CARD_TOKEN_ID} | json: '$.number' | last4 }}` },
      },
    },
    response: {
      expressions: { summary: "As far as the caller may read", value: { name: "Jane Doe", last4: "4242" } },
    },
  },
  CreateApplication: {
    request: {
      private: {
        summary: "A back end that stores cards and reads them in the clear",
        value: {
          name: "Checkout",
          type: "private",
          rules: [
            {
              description: "Cards",
              priority: 1,
              container: "/pci/",
              transform: "reveal",
              permissions: ["token:create", "token:read"],
            },
          ],
        },
      },
      public: {
        summary: "A page that may only store",
        value: { name: "Web page", type: "public", permissions: ["token:create"] },
      },
    },
  },
  UpdateApplication: {
    request: {
      reading: { summary: "A back end that only reads", value: { name: "Support", permissions: ["token:read"] } },
    },
  },
  ExplainAccess: {
    request: {
      containers: {
        summary: "The applications that may read what the containers hold",
        value: { containers: ["/pci/high/"], permission: "token:read" },
      },
    },
  },
  AuthorizeSession: {
    request: {
      rule: {
        summary: "One token, in the clear, for five minutes",
        value: {
          nonce: "dGhpcyBpcyBvbmx5IGFuIGV4YW1wbGU",
          rules: [
            {
              priority: 1,
              transform: "reveal",
              permissions: ["token:read"],
              conditions: [{ attribute: "id", operator: "equals", value: CARD_TOKEN_ID }],
            },
          ],
        },
      },
    },
  },
};
