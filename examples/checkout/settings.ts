/** What `setup.ts` wrote. */
export const settings = {
  vault: required("CLOAKROOM_URL"),
  origin: required("SHOP_URL"),
  acquirer: required("ACQUIRER_URL"),
  publicKey: required("PUBLIC_KEY"),
  paymentsKey: required("PAYMENTS_KEY"),
  cardsKey: required("CARDS_KEY"),
  connectionId: required("CONNECTION_ID"),
};

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`${name} is missing: run setup.ts, and node --env-file`);
  return value;
}
