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
import { checkoutcomMode } from "./address.js";
import { checkoutcomConnector } from "./connector.js";

export const checkoutcomProvider: Provider = {
  formula: {
    id: "checkoutcom-card",
    displayName: "Checkout.com",
    method: "card",
    fields: [
      required(secretField("secret_key", "Secret key")),
      textField("public_key", "Public key"),
      secretField("signature_key", "Webhook signature key"),
      textField("processing_channel_id", "Processing channel"),
      textField("api_prefix", "Prefix of the account's own address"),
      modeField(),
    ],
    countries:
      codeList(`AD AE AR AT AU BE BG BH BR CH CL CN CO CY CZ DE DK EE EG ES FI FR GB GR HK HR HU IE IS IT JO JP KW LI
      LT LU LV MC MT MX MY NL NO NZ OM PE PL PT QA RO SA SE SG SI SK SM TR US`),
    currencies: currenciesWithout("CLF IRR KPW SDG SSP SYP UGX"),
    features: new Set<Feature>([...USUAL_FEATURES, "three_d_secure_hosted", "three_d_secure_pass_through"]),
  },
  /** The secret alone names the account, so another secret may belong to the same account. */
  accountFields: ["secret_key", "processing_channel_id", "api_prefix", "mode"],
  modeOf: checkoutcomMode,
  /** Checkout.com keeps only keys of successes: a request that returned an error would be executed again. */
  detectsRepeatsForMs: 0,
  connect: checkoutcomConnector,
};
