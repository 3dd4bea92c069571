import { COUNTRIES } from "./country.js";
import { CURRENCIES } from "./currency.js";

export const FORMULA_IDS = [
  "simulator-card",
  "stripe-card",
  "adyen-card",
  "checkoutcom-card",
  "authorizenet-card",
] as const;
export type FormulaId = (typeof FORMULA_IDS)[number];

/** Features of a formula's payment service, by their published names (api-facts 10.2). */
export const FEATURES = [
  "delayed_capture",
  "multi_capture",
  "over_capture",
  "partial_authorization",
  "partial_capture",
  "partial_refunds",
  "refunds",
  "requires_webhook_setup",
  "three_d_secure_hosted",
  "three_d_secure_pass_through",
  "verify_credentials",
  "void",
  "zero_auth",
] as const;
export type Feature = (typeof FEATURES)[number];

export interface FormulaField {
  readonly key: string;
  readonly displayName: string;
  readonly required: boolean;
  readonly format: "text" | "number" | "boolean";
  /** Sealed and never shown. */
  readonly secret: boolean;
  /** The allowed values. Absent: any. */
  readonly choices?: readonly string[];
  /** Other names that callers may send. */
  readonly aliases?: readonly string[];
}

/** A payment service that tenants can connect to, and the fields that a connection needs. */
export interface Formula {
  readonly id: FormulaId;
  readonly displayName: string;
  readonly method: "card";
  readonly fields: readonly FormulaField[];
  readonly countries: readonly string[];
  readonly currencies: readonly string[];
  readonly features: ReadonlySet<Feature>;
}

const FULL: readonly Feature[] = [
  "delayed_capture",
  "partial_capture",
  "partial_refunds",
  "refunds",
  "verify_credentials",
  "void",
  "zero_auth",
];

/** In list order. Fields, countries and currencies: orchestration.md 3, api-facts 10.2. */
export const FORMULAS: readonly Formula[] = [
  {
    id: "simulator-card",
    displayName: "Card simulator",
    method: "card",
    fields: [
      required(text("merchant_id", "Merchant ID")),
      { ...text("verify_result", "Result of the credentials check"), choices: ["available", "failed", "pending"] },
      { ...text("latency_ms", "Latency of each answer in milliseconds"), format: "number" },
      { ...text("approval_ttl_s", "Seconds a buyer has to approve"), format: "number" },
      { ...text("async_capture", "Captures take two seconds"), format: "boolean" },
      secret("webhook_secret", "Secret that webhooks are signed with"),
    ],
    countries: COUNTRIES,
    currencies: CURRENCIES,
    features: new Set<Feature>([
      ...FULL,
      "partial_authorization",
      "three_d_secure_hosted",
      "three_d_secure_pass_through",
    ]),
  },
  {
    id: "stripe-card",
    displayName: "Stripe",
    method: "card",
    fields: [
      { ...required(secret("secret_key", "Secret key")), aliases: ["private_key"] },
      { ...text("stripe_account", "Connected account"), aliases: ["account_id"] },
      secret("webhook_secret", "Webhook signing secret"),
      { ...text("network_transaction_id_enabled", "May send network transaction ids"), format: "boolean" },
    ],
    countries:
      codes(`AE AT AU BE BG BR CA CH CY CZ DE DK EE ES FI FR GB GR HK HU IE IN IT JP LT LU LV MT MX MY NL NO NZ PL
      PT RO SE SG SI SK US`),
    currencies: without("CLF CUP IQD IRR KPW LYD SDG SSP SYP"),
    features: new Set<Feature>([
      ...FULL.filter((feature) => feature !== "zero_auth"),
      "three_d_secure_hosted",
      "three_d_secure_pass_through",
    ]),
  },
  {
    id: "adyen-card",
    displayName: "Adyen",
    method: "card",
    fields: [
      required(secret("api_key", "API key")),
      required(text("merchant_account", "Merchant account")),
      text("live_endpoint_prefix", "Prefix of the live address"),
      secret("hmac_key", "HMAC key of webhooks"),
      mode(),
    ],
    countries:
      codes(`AT AU BE BG BR CH CY CZ DE DK EE ES FI FR GB GI GR HK HU IE IS IT LI LT LU LV MC MT MX NL NO NZ PL PT
      RO SE SG SK SI US`),
    currencies: without("BIF CLF IRR KPW SDG SSP SYP"),
    features: new Set<Feature>([
      ...FULL,
      "partial_authorization",
      "requires_webhook_setup",
      "three_d_secure_hosted",
      "three_d_secure_pass_through",
    ]),
  },
  {
    id: "checkoutcom-card",
    displayName: "Checkout.com",
    method: "card",
    fields: [
      required(secret("secret_key", "Secret key")),
      text("public_key", "Public key"),
      secret("signature_key", "Webhook signature key"),
      text("processing_channel_id", "Processing channel"),
      text("api_prefix", "Prefix of the account's own address"),
      mode(),
    ],
    countries:
      codes(`AD AE AR AT AU BE BG BH BR CH CL CN CO CY CZ DE DK EE EG ES FI FR GB GR HK HR HU IE IS IT JO JP KW LI
      LT LU LV MC MT MX MY NL NO NZ OM PE PL PT QA RO SA SE SG SI SK SM TR US`),
    currencies: without("CLF IRR KPW SDG SSP SYP UGX"),
    features: new Set<Feature>([...FULL, "three_d_secure_hosted", "three_d_secure_pass_through"]),
  },
  {
    id: "authorizenet-card",
    displayName: "Authorize.net",
    method: "card",
    fields: [
      required(text("merchant_account_id", "API login ID")),
      required(secret("transaction_key", "Transaction key")),
      secret("signature_key", "Webhook signature key"),
      mode(),
    ],
    countries: codes("AU CA GB US"),
    currencies: codes("AUD CAD CHF DKK EUR GBP NOK NZD PLN SEK USD"),
    features: new Set<Feature>([...FULL, "three_d_secure_pass_through"]),
  },
];

const ALIASES: ReadonlyMap<string, FormulaId> = new Map([["stripe", "stripe-card"]]);

/** Finds a formula by its id or by its alias in an older sample. Undefined for any other text. */
export function findFormula(id: string): Formula | undefined {
  const wanted = ALIASES.get(id) ?? id;
  return FORMULAS.find((formula) => formula.id === wanted);
}

/** Whether buyers can be authenticated, by the service or before the payment. */
export function hasThreeDSecure({ features }: Formula): boolean {
  return features.has("three_d_secure_hosted") || features.has("three_d_secure_pass_through");
}

function text(key: string, displayName: string): FormulaField {
  return { key, displayName, required: false, format: "text", secret: false };
}

function secret(key: string, displayName: string): FormulaField {
  return { ...text(key, displayName), secret: true };
}

function required(field: FormulaField): FormulaField {
  return { ...field, required: true };
}

/** For services whose key does not show the mode. Default: test. */
function mode(): FormulaField {
  return { ...text("mode", "Test or live"), choices: ["test", "live"] };
}

function codes(list: string): string[] {
  return list.split(/\s+/);
}

function without(list: string): string[] {
  const excluded = new Set(codes(list));
  return CURRENCIES.filter((currency) => !excluded.has(currency));
}
