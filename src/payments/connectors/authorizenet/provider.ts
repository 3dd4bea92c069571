import type { Feature } from "../../contract/formula.js";
import { codeList, modeField, required, secretField, textField, USUAL_FEATURES } from "../../contract/formula-parts.js";
import type { Provider } from "../../contract/provider.js";
import { configuredMode } from "../fields.js";
import { authorizenetConnector } from "./connector.js";

export const authorizenetProvider: Provider = {
  formula: {
    id: "authorizenet-card",
    displayName: "Authorize.net",
    method: "card",
    fields: [
      required(textField("merchant_account_id", "API login ID")),
      required(secretField("transaction_key", "Transaction key")),
      secretField("signature_key", "Webhook signature key"),
      modeField(),
    ],
    countries: codeList("AU CA GB US"),
    currencies: codeList("AUD CAD CHF DKK EUR GBP NOK NZD PLN SEK USD"),
    features: new Set<Feature>([...USUAL_FEATURES, "three_d_secure_pass_through"]),
  },
  /** The secret may change within an account. */
  accountFields: ["merchant_account_id", "mode"],
  modeOf: configuredMode,
  /**
   * Authorize.net has no idempotency keys: the connector first looks a refund up by our reference, and does not send it if
   * the lists are inconclusive.
   */
  detectsRepeatsForMs: Number.POSITIVE_INFINITY,
  connect: authorizenetConnector,
};
