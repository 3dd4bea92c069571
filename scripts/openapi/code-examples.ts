import type { MethodExamples } from "./examples.js";

const APPLICATION_ID = "01980f6e-3c2b-7d4e-8f50-6b7c8d9e0f1a";
const CARD_TOKEN_ID = "01980f70-1a2b-7c4d-9e5f-60718293a4b5";
const CODE =
  "module.exports = async function ({ args, configuration }) { return { raw: { last4: args.card.number.slice(-4) } }; };";

const proxy = {
  summary: "To a partner, which sees the card and answers without it",
  value: {
    name: "Partner",
    destination_url: "https://api.partner.example/v1",
    response_transforms: [{ type: "mask", matcher: "regex", expression: "(\\d{12})\\d{4}", replacement: "*" }],
    require_auth: true,
  },
};
const reactor = { name: "Last four", code: CODE, application: { id: APPLICATION_ID }, configuration: { REGION: "eu" } };
const run = {
  card: { summary: "With a token's value", value: { args: { card: `{{ ${CARD_TOKEN_ID} }}` } } },
};
const formula = {
  formula: {
    summary: "Code that asks for one configuration entry and one argument",
    value: {
      name: "Last four",
      type: "private",
      code: CODE,
      configuration: [{ name: "REGION", type: "string" }],
      request_parameters: [{ name: "card.number", type: "string" }],
    },
  },
};

/** Examples of proxies and reactors, by the name of the method. */
export const CODE_EXAMPLES: Readonly<Record<string, MethodExamples>> = {
  CreateProxy: { request: { partner: proxy } },
  ReplaceProxy: { request: { partner: proxy } },
  UpdateProxy: {
    request: {
      configuration: {
        summary: "Sets one configuration entry and deletes another",
        value: { configuration: { REGION: "eu", OLD: null } },
      },
    },
  },
  TestProxy: {
    request: {
      mask: {
        summary: "A transform of the response, with a simulated destination",
        value: {
          request: { method: "POST", path: "/charges", body: { amount: 100 } },
          answer: { status: 200, body: { card: "4242424242424242" } },
          response_transforms: proxy.value.response_transforms,
        },
      },
    },
  },
  CreateReactor: { request: { code: { summary: "Code with an application's rights", value: reactor } } },
  ReplaceReactor: { request: { code: { summary: "Code with an application's rights", value: reactor } } },
  UpdateReactor: { request: { name: { summary: "Changes the name alone", value: { name: "Last four digits" } } } },
  React: { request: run },
  ReactAsync: { request: run },
  TestReactor: {
    request: {
      sample: {
        summary: "With sample arguments",
        value: { code: CODE, args: { card: { number: "4242424242424242" } } },
      },
    },
  },
  CreateReactorFormula: { request: formula },
  ReplaceReactorFormula: { request: formula },
};
