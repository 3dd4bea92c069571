/** A call over REST, as JSON. @throws for another status than 200 to 299. */
type Call = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

/** What a vault showed to two keys. */
export interface Readings {
  readonly managementKey: string;
  readonly backEndKey: string;
  /** The body of each GET, by its path. */
  readonly managed: Readonly<Record<string, unknown>>;
  readonly read: Readonly<Record<string, unknown>>;
}

const RIGHTS = ["token:create", "token:read", "token:search", "token:update", "token:delete", "token:use"];
const NUMBER = "4242424242424242";

/** A token of each type, and those whose stored form differs: aliases, expressions, expiry, long and empty values. */
const TOKENS = [
  { type: "token", data: "plain", metadata: { order: "17" }, containers: ["/shop/"], search_indexes: ["{{ data }}"] },
  { type: "token", id: "alias-of-0.1", data: { nested: [1, null, true, { ünï: "cöde ✓" }] } },
  { type: "token", data: "long ".repeat(2_000), mask: "{{ data | slice: 0, 4 }}", expires_at: "2999-01-01T00:00:00Z" },
  { type: "card", data: { number: NUMBER, expiration_month: 12, expiration_year: 2099 }, deduplicate_token: true },
  { type: "card_number", data: NUMBER, fingerprint_expression: "{{ data }}" },
  { type: "bank", data: { routing_number: "110000000", account_number: "000123456789" } },
  { type: "us_bank_account_number", data: "000123456789" },
  { type: "us_bank_routing_number", data: "110000000" },
  { type: "social_security_number", data: "123-45-6789" },
  { type: "employer_id_number", data: "12-3456789" },
];

const CODE = "module.exports = async (req) => ({ raw: { ...req.args, from: req.configuration.WHO } });";
const PROXY = {
  name: "Partner",
  destination_url: "https://partner.example.com/charges",
  response_transform: { code: "module.exports = async (req) => req.args;" },
  configuration: { WHO: "proxy" },
};
const CONNECTION = {
  ...{ connection_formula_id: "simulator-card", method: "card", display_name: "Simulator" },
  ...{ fields: [{ key: "merchant_id", value: "shop" }], accepted_countries: ["US"], accepted_currencies: ["USD"] },
};

/** Stores one of everything that a release may have to read, and reads it back. */
export async function fillVault(url: string, managementKey: string): Promise<Readings> {
  const manage = callWith(url, managementKey);
  const rule = { description: "All", priority: 1, container: "/", transform: "reveal", permissions: RIGHTS };
  const permissions = ["orchestration:transaction:capture"];
  const application = await manage("POST", "/applications", {
    name: "Back end",
    type: "private",
    rules: [rule],
    permissions,
  });
  const backEndKey = String(application.key);
  const backEnd = callWith(url, backEndKey);
  const applicationId = String(application.id);

  const tokens = await inTurn(TOKENS, (body) => backEnd("POST", "/tokens", body));
  const card = tokens[3]?.id;
  const reactor = { name: "R", code: CODE, application: { id: applicationId }, configuration: { WHO: "reactor" } };
  const formula = { name: "F", type: "private", code: CODE, configuration: [], request_parameters: [] };
  const webhook = { name: "W", url: "https://shop.example.com/hook", events: ["application.key.deleted"] };
  const made = [
    ["/applications", application],
    ["/reactors", await manage("POST", "/reactors", reactor)],
    ["/reactor-formulas", await manage("POST", "/reactor-formulas", formula)],
    ["/proxies", await manage("POST", "/proxies", { ...PROXY, application: { id: applicationId } })],
    ["/webhooks", await manage("POST", "/webhooks", webhook)],
    ["/orchestration/connections", await manage("POST", "/orchestration/connections", CONNECTION)],
  ] as const;
  await manage("POST", "/tenants/self/invitations", { email: "ada@example.com", role: "AUDITOR" });
  const { name } = await manage("GET", "/tenants/self");
  await manage("PUT", "/tenants/self", { name, settings: { record_log_reads: "false" } });

  const payment = { amount: 1250, currency: "USD", token: card, intent: "capture", connection_id: made[5][1].id };
  const transaction = await backEnd("POST", "/orchestration/transactions", payment);
  const paid = `/orchestration/transactions/${transaction.id}`;
  await backEnd("POST", `${paid}/refunds`, { amount: 250, reason: "returned goods" });

  const ids = tokens.map(({ id }) => `/tokens/${id}`);
  return {
    managementKey,
    backEndKey,
    managed: await answersTo(manage, [
      ...made.map(([collection, { id }]) => `${collection}/${id}`),
      `/applications/${applicationId}/keys`,
      "/tenants/self",
      "/tenants/self/members",
      `/logs?entity_id=${card}&operation=create`,
    ]),
    read: await answersTo(backEnd, [...ids, "/tokens?metadata.order=17", paid, `${paid}/refunds`]),
  };
}

/** Reads each path again. */
export function answersTo(call: Call, paths: readonly string[]): Promise<Record<string, unknown>> {
  return inTurn(paths, async (path) => [path, await call("GET", path)] as const).then(Object.fromEntries);
}

export function callWith(url: string, key: string): Call {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { "BT-API-KEY": key, "Content-Type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    // Connections show the server's address, which is another at each start.
    const text = (await response.text()).replaceAll(url, "{vault}");
    if (!response.ok) throw new Error(`${method} ${path} got ${response.status}: ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
}

async function inTurn<Item, Result>(items: readonly Item[], each: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await each(item));
  return results;
}
