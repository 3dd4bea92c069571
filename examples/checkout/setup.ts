import { writeFileSync } from "node:fs";

/*
 * Makes what the shop needs in a vault, and writes it to a file for `node --env-file`. Run once, with a management key,
 * which the shop itself never has.
 */

const vault = process.env.CLOAKROOM_URL ?? "http://127.0.0.1:8080";
const shop = process.env.SHOP_URL ?? "http://localhost:4000";
const managementKey = process.env.MANAGEMENT_KEY ?? "";

async function create(path: string, body: object): Promise<Record<string, string>> {
  const response = await fetch(`${vault}${path}`, {
    method: "POST",
    headers: { "BT-API-KEY": managementKey, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${await response.text()}`);
  return Object(await response.json());
}

// The page's key is public. It works in hosted fields of this origin's pages only: they create tokens and read none. The
// template has expressions that no page may write.
const page = await create("/applications", {
  ...{ name: "Shop: page", type: "public", permissions: ["token:create"], allowed_origins: [shop] },
  templates: [{ name: "order", search_indexes: ["{{ data.number | last4 }}"] }],
});
// Charges cards and sends them through proxies, and never sees one.
const payments = await create("/applications", { name: "Shop: payments", type: "private", permissions: ["token:use"] });
// Can show a card to its holder. The shop uses it only to authorize sessions of one token.
const cards = await create("/applications", {
  ...{ name: "Shop: cards", type: "private" },
  rules: [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:read"] }],
});
const connection = await create("/orchestration/connections", {
  ...{ connection_formula_id: "simulator-card", method: "card", display_name: "Simulator" },
  ...{ fields: [{ key: "merchant_id", value: "shop" }], accepted_countries: ["US"], accepted_currencies: ["USD"] },
});

const settings = {
  ...{ CLOAKROOM_URL: vault, SHOP_URL: shop, ACQUIRER_URL: process.env.ACQUIRER_URL ?? "http://127.0.0.1:4001" },
  ...{ PUBLIC_KEY: page.key, PAYMENTS_KEY: payments.key, CARDS_KEY: cards.key, CONNECTION_ID: connection.id },
};
const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
writeFileSync(process.env.SHOP_SETTINGS ?? new URL("shop.env", import.meta.url), lines.join(""), { mode: 0o600 });
