import { HOUR_MS } from "../../../base/clock.js";
import type { Feature } from "../../contract/formula.js";
import {
  codeList,
  currenciesWithout,
  required,
  secretField,
  textField,
  USUAL_FEATURES,
} from "../../contract/formula-parts.js";
import type { Provider } from "../../contract/provider.js";
import { configuredMode } from "../fields.js";
import { stripeConnector } from "./connector.js";

export const stripeProvider: Provider = {
  formula: {
    id: "stripe-card",
    aliases: ["stripe"],
    displayName: "Stripe",
    method: "card",
    fields: [
      { ...required(secretField("secret_key", "Secret key")), aliases: ["private_key"] },
      { ...textField("stripe_account", "Connected account"), aliases: ["account_id"] },
      secretField("webhook_secret", "Webhook signing secret"),
      { ...textField("network_transaction_id_enabled", "May send network transaction ids"), format: "boolean" },
    ],
    countries:
      codeList(`AE AT AU BE BG BR CA CH CY CZ DE DK EE ES FI FR GB GR HK HU IE IN IT JP LT LU LV MT MX MY NL NO NZ PL
      PT RO SE SG SI SK US`),
    currencies: currenciesWithout("CLF CUP IQD IRR KPW LYD SDG SSP SYP"),
    features: new Set<Feature>([
      ...USUAL_FEATURES.filter((feature) => feature !== "zero_auth"),
      "three_d_secure_hosted",
      "three_d_secure_pass_through",
    ]),
  },
  /** The secret alone names the account, so another secret may belong to the same account. */
  accountFields: ["secret_key", "stripe_account"],
  modeOf: configuredMode,
  /** Stripe keeps idempotency keys for at least 24 hours. */
  detectsRepeatsForMs: 23 * HOUR_MS,
  connect: stripeConnector,
};
