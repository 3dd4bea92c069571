export const FORMULA_IDS = [
  "simulator-card",
  "stripe-card",
  "adyen-card",
  "checkoutcom-card",
  "authorizenet-card",
] as const;
export type FormulaId = (typeof FORMULA_IDS)[number];

/** Features of a formula's payment service, by the names that the API shows. */
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
  /** Other ids that older samples use. */
  readonly aliases?: readonly string[];
  readonly displayName: string;
  readonly method: "card";
  readonly fields: readonly FormulaField[];
  readonly countries: readonly string[];
  readonly currencies: readonly string[];
  readonly features: ReadonlySet<Feature>;
}

/** Whether buyers can be authenticated, by the service or before the payment. */
export function hasThreeDSecure({ features }: Formula): boolean {
  return features.has("three_d_secure_hosted") || features.has("three_d_secure_pass_through");
}
