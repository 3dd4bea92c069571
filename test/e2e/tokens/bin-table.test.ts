import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { startDestination } from "../proxy/support/destination.js";
import { makeProxy } from "../proxy/support/proxies.js";

const ISSUER = { card_brand: "VISA", type: "Debit", prepaid: false, bank: { name: "Example Bank" } };

describe("a server with a table of card issuers", () => {
  let server: ServerHere;
  let tenant: TestTenant;
  let backEnd: RestClient;
  beforeAll(async () => {
    const files = { "bins.json": JSON.stringify({ "42424242": ISSUER }) };
    server = await startServerHere({ BIN_TABLE_FILE: "{directory}/bins.json", EGRESS_ALLOW: "127.0.0.1" }, { files });
    tenant = await newTenant(server.url, server.environment);
    backEnd = await tenant.backEnd();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  const card = (number: string) => ({ type: "card", data: { number } });

  it("shows them wherever a card is shown", async () => {
    const { body: made } = await backEnd("POST", "/tokens", { body: card("4242424242424242") });
    const { id } = made;
    const headers = { "Content-Type": "application/merge-patch+json" };
    const shown = [
      made,
      (await backEnd("GET", `/tokens/${id}`)).body,
      (await backEnd("GET", "/tokens")).body.data[0],
      (await backEnd("GET", "/v2/tokens")).body.data[0],
      (await backEnd("POST", "/tokens/search", { body: { query: `id:${id}` } })).body.data[0],
      (await backEnd("PATCH", `/tokens/${id}`, { headers, body: { metadata: { a: "b" } } })).body,
      (await backEnd("POST", "/tokenize", { body: [card("4242424242424242")] })).body[0],
      (await backEnd("POST", "/detokenize", { body: [`{{ token: ${id} }}`] })).body[0],
    ];
    for (const view of shown) expect(view.card).toMatchObject({ brand: "visa", funding: "debit" });
    const other = await backEnd("POST", "/tokens", { body: card("5555555555554444") });
    expect(other.body.card).toEqual({ bin: "55555555", last4: "4444", brand: "mastercard" });
  });

  it("gives expressions the entry unchanged, in detokenization, reactors and proxies", async () => {
    await using destination = await startDestination();
    const { id } = (await backEnd("POST", "/tokens", { body: card("4242424242424242") })).body;
    const bank = `{{ token: ${id} | json: '$.enrichments.bin_details.bank.name' }}`;
    const details = `{{ token: ${id} | json: '$.enrichments.bin_details' }}`;
    expect((await backEnd("POST", "/detokenize", { body: { bank, details } })).body).toEqual({
      bank: "Example Bank",
      details: ISSUER,
    });
    const code = "module.exports = (req) => ({ raw: req.args });";
    const reactor = await tenant.manage("POST", "/reactors", { body: { name: "Issuers", code } });
    const run = await backEnd("POST", `/reactors/${reactor.body.id}/react`, { body: { args: { bank } } });
    expect(run.body.raw).toEqual({ bank: "Example Bank" });
    const { key } = await makeProxy(tenant, { destination_url: destination.url });
    expect((await backEnd("POST", "/proxy", { headers: { "BT-PROXY-KEY": key }, body: { bank } })).status).toBe(200);
    expect(JSON.parse(destination.last().body.toString())).toEqual({ bank: "Example Bank" });
    const other = (await backEnd("POST", "/tokens", { body: card("5555555555554444") })).body.id;
    const [whole] = (await backEnd("POST", "/detokenize", { body: [`{{ token: ${other} }}`] })).body;
    expect(whole.enrichments).toEqual({ card_details: { bin: "55555555", last4: "4444" } });
  });
});
