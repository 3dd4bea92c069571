import { HOUR_MS } from "../../../base/clock.js";
import type { Feature } from "../../contract/formula.js";
import {
  codeList,
  currenciesWithout,
  modeField,
  required,
  secretField,
  textField,
  USUAL_FEATURES,
} from "../../contract/formula-parts.js";
import type { Provider } from "../../contract/provider.js";
import { adyenMode } from "./address.js";
import { adyenConnector } from "./connector.js";

export const adyenProvider: Provider = {
  formula: {
    id: "adyen-card",
    displayName: "Adyen",
    method: "card",
    fields: [
      required(secretField("api_key", "API key")),
      required(textField("merchant_account", "Merchant account")),
      textField("live_endpoint_prefix", "Prefix of the live address"),
      secretField("hmac_key", "HMAC key of webhooks"),
      modeField(),
    ],
    countries:
      codeList(`AT AU BE BG BR CH CY CZ DE DK EE ES FI FR GB GI GR HK HU IE IS IT LI LT LU LV MC MT MX NL NO NZ PL PT
      RO SE SG SK SI US`),
    currencies: currenciesWithout("BIF CLF IRR KPW SDG SSP SYP"),
    features: new Set<Feature>([
      ...USUAL_FEATURES,
      "partial_authorization",
      "requires_webhook_setup",
      "three_d_secure_hosted",
      "three_d_secure_pass_through",
    ]),
  },
  /** The secret may change within an account. */
  accountFields: ["merchant_account", "live_endpoint_prefix", "mode"],
  liveFields: ["live_endpoint_prefix"],
  modeOf: adyenMode,
  /** Adyen keeps idempotency keys for 7 days. */
  detectsRepeatsForMs: (7 * 24 - 1) * HOUR_MS,
  connect: adyenConnector,
};
