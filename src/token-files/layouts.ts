import type { Mapping } from "./mapping.js";

/** Cards of Stripe's export: https://docs.stripe.com/get-started/data-migrations/export-file-formats */
const STRIPE = cards({
  "card.number": "data.number",
  "card.exp_month": "data.expiration_month",
  "card.exp_year": "data.expiration_year",
  id: "metadata.stripe_customer",
  "card.id": "metadata.stripe_card",
});

/**
 * The columns that Spreedly's guide names: https://docs.spreedly.com/guides/migrating/one-time. What its batch export
 * writes is a template of its customer's: docs/moving-in.md says which.
 */
const SPREEDLY = cards({
  card_number: "data.number",
  expiration_month: "data.expiration_month",
  expiration_year: "data.expiration_year",
  id: "metadata.spreedly_token",
});

/**
 * Braintree's export: https://developer.paypal.com/braintree/articles/get-started/data-migration/exports. Its guide to
 * imports has the expiry in one column or in two, so both are taken. Customers without a card have a row of their own,
 * with an error.
 */
const BRAINTREE = cards({
  "credit_card.number": "data.number",
  "credit_card.expiration": "data.expiration",
  "credit_card.expiration_date": "data.expiration",
  "credit_card.expiration_month": "data.expiration_month",
  "credit_card.expiration_year": "data.expiration_year",
  id: "metadata.braintree_customer",
  "credit_card.token": "metadata.braintree_token",
});

/** Tokens as Basis Theory's API returns them, one in each line. */
const BASIS_THEORY: Mapping = {
  columns: new Map(
    [
      ...["id", "type", "data", "mask", "containers", "metadata"],
      ...["search_indexes", "fingerprint_expression", "expires_at"],
    ].map((name) => [name, name]),
  ),
  values: new Map(),
};

/** Values as the Vault API of VGS reveals them, one in each line: https://docs.verygoodsecurity.com/vault/developer-tools/apis/vault-api */
const VGS: Mapping = {
  columns: new Map([
    ["value", "data"],
    ["aliases.0.alias", "metadata.vgs_alias"],
  ]),
  values: new Map([["type", "token"]]),
};

export const LAYOUTS: ReadonlyMap<string, Mapping> = new Map([
  ["stripe", STRIPE],
  ["spreedly", SPREEDLY],
  ["braintree", BRAINTREE],
  ["basis-theory", BASIS_THEORY],
  ["vgs", VGS],
]);

function cards(columns: Readonly<Record<string, string>>): Mapping {
  return { columns: new Map(Object.entries(columns)), values: new Map([["type", "card"]]) };
}
