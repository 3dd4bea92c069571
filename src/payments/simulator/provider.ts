import { configuredMode } from "../connectors/fields.js";
import { COUNTRIES } from "../contract/country.js";
import { CURRENCIES } from "../contract/currency.js";
import type { Feature } from "../contract/formula.js";
import { required, secretField, textField, USUAL_FEATURES } from "../contract/formula-parts.js";
import type { Provider } from "../contract/provider.js";

export const simulatorProvider: Provider = {
  formula: {
    id: "simulator-card",
    displayName: "Card simulator",
    method: "card",
    fields: [
      required(textField("merchant_id", "Merchant ID")),
      { ...textField("verify_result", "Result of the credentials check"), choices: ["available", "failed", "pending"] },
      { ...textField("latency_ms", "Latency of each response in milliseconds"), format: "number" },
      { ...textField("approval_ttl_s", "Seconds a buyer has to approve"), format: "number" },
      { ...textField("async_capture", "Captures take two seconds"), format: "boolean" },
      secretField("webhook_secret", "Secret that webhooks are signed with"),
    ],
    countries: COUNTRIES,
    currencies: CURRENCIES,
    features: new Set<Feature>([
      ...USUAL_FEATURES,
      "partial_authorization",
      "three_d_secure_hosted",
      "three_d_secure_pass_through",
    ]),
  },
  accountFields: ["merchant_id"],
  modeOf: configuredMode,
  /** Its payments are never deleted. */
  detectsRepeatsForMs: Number.POSITIVE_INFINITY,
  /** Its test amounts for refused credentials do not mean that the connection is broken. */
  isSimulated: true,
};
