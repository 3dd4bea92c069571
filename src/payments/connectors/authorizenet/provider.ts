import type { Feature } from "../../formula.js";
import { codesIn, modeField, required, secretField, textField, USUAL_FEATURES } from "../../formula-parts.js";
import type { Provider } from "../../provider.js";
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
    countries: codesIn("AU CA GB US"),
    currencies: codesIn("AUD CAD CHF DKK EUR GBP NOK NZD PLN SEK USD"),
    features: new Set<Feature>([...USUAL_FEATURES, "three_d_secure_pass_through"]),
  },
  /** The secret may change within an account. */
  accountFields: ["merchant_account_id", "mode"],
  modeOf: configuredMode,
  /** Authorize.net has no idempotency keys: a refund is first looked up by our reference, and is not sent if the lists are
   * inconclusive. */
  resendMs: Number.POSITIVE_INFINITY,
  connect: authorizenetConnector,
};
