import { afterAll, beforeAll, expect, test } from "vitest";
import type { WebhookDelivery } from "../../../src/payments/contract/webhook.js";
import type { Bench } from "../../payments/connectors/bench.js";
import { BENCHES } from "../../payments/connectors/benches.js";
import type { RestClient } from "../../support/rest.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";

let server: ServerHere;
let owner: RestClient;
let shop: RestClient;
const benches = new Map<string, Bench>();

beforeAll(async () => {
  for (const [name, open] of BENCHES) benches.set(name, await open());
  const addresses = [...benches].map(([name, bench]) => `${name}=${new URL(bench.server.url).origin}`);
  server = await startServerHere({ PAYMENT_ADDRESSES: addresses.join(","), EGRESS_ALLOW: "127.0.0.1" });
  const tenant = await newTenant(server.url, server.environment);
  owner = tenant.manage;
  const permissions = ["token:create", "token:use", "orchestration:transaction:capture"];
  shop = await tenant.application({ type: "private", permissions });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const bench of benches.values()) await bench[Symbol.asyncDispose]();
});

async function connect(name: string, bench: Bench): Promise<{ id: string; webhook_url: string }> {
  const fields = Object.entries(bench.fields).map(([key, value]) => ({ key, value }));
  const { status, body } = await owner("POST", "/orchestration/connections", {
    body: {
      ...{ connection_formula_id: name, method: "card", display_name: name, fields },
      ...{ accepted_countries: ["US"], accepted_currencies: [bench.currency] },
    },
  });
  expect([status, body.status]).toEqual([201, "pending"]);
  const path = `/orchestration/connections/${body.id}`;
  await expect.poll(async () => (await owner("GET", path)).body.status).toBe("available");
  return body;
}

async function post(url: string, { headers, body }: WebhookDelivery): Promise<number> {
  const given = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return (await fetch(url, { method: "POST", headers: Object.fromEntries(given), body: body.toString() })).status;
}

/** Looks up the transaction and delivers webhooks until it is as expected. */
async function until(id: string, bench: Bench, webhookUrl: string, expected: object): Promise<void> {
  const look = async () => {
    for (const delivery of bench.webhooks()) expect(await post(webhookUrl, delivery)).toBe(200);
    return (await shop("POST", `/orchestration/transactions/${id}/sync`)).body;
  };
  await expect.poll(look).toMatchObject(expected);
}

test.each(BENCHES)("%s: a payment and its capture, both with lost responses, happen once", async (name) => {
  const bench = benches.get(name);
  if (!bench) throw new Error("no bench");
  const { id: connection_id, webhook_url } = await connect(name, bench);
  expect(await post(webhook_url, bench.forged())).toBe(401);

  const card = { number: bench.cards.approved, expiration_month: 3, expiration_year: 2030, cvc: "737" };
  const token = (await shop("POST", "/tokens", { body: { type: "card", data: card } })).body.id;
  bench.server.fail(bench.routes.authorize, { response: "reset", acted: true });
  const made = await shop("POST", "/orchestration/transactions", {
    body: { amount: 1234, currency: bench.currency, connection_id, token },
  });
  expect([made.status, made.body.status]).toEqual([201, "processing"]);
  const { id, reconciliation_id } = made.body;
  await until(id, bench, webhook_url, { status: "authorization_succeeded", authorized_amount: 1234 });

  bench.server.fail(bench.routes.capture, { response: 500, acted: true });
  const captured = await shop("POST", `/orchestration/transactions/${id}/capture`, { body: { amount: 1000 } });
  expect([captured.status, captured.body.status]).toEqual([200, "capture_pending"]);
  await until(id, bench, webhook_url, { status: "capture_succeeded", captured_amount: 1000 });

  const logged = async (query: string): Promise<unknown[]> =>
    (await owner("GET", `/logs?size=100&destination_host=127.0.0.1&${query}`)).body.data.map(
      ({ operation, message }: { operation: string; message: string }) => `${operation}: ${message}`,
    );
  expect(await logged(`entity_id=${token}`)).toContain("use: Card used");
  expect(await logged(`entity_id=${id}`)).toEqual(
    expect.arrayContaining([
      "create: Transaction created",
      "update: Transaction updated: sync",
      "update: Transaction updated: capture",
    ]),
  );
  expect(bench.ledger.of(reconciliation_id, "authorize")).toHaveLength(1);
  expect(bench.ledger.of(reconciliation_id, "capture").map(({ amount }) => amount)).toEqual([1000]);
  // The first start prints an example with a card for people; the log does not.
  const log = server
    .said()
    .split("\n")
    .filter((line) => line.startsWith("{"));
  const lines = log.map((line): unknown => JSON.parse(line));
  for (const rpc of ["CreateToken", "CreateTransaction", "CaptureTransaction"]) {
    expect(lines).toContainEqual(expect.objectContaining({ rpc, tenant_id: expect.any(String) }));
  }
  for (const secret of [...bench.secrets, bench.cards.approved]) expect(log.join()).not.toContain(secret);
});
