import { beforeAll, describe, expect, it, vi } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const SIMULATOR = {
  connection_formula_id: "simulator-card",
  method: "card",
  display_name: "Laptop",
  fields: [{ key: "merchant_id", value: "m-1" }],
  accepted_countries: ["US", "DE"],
  accepted_currencies: ["USD", "EUR"],
};

const statusOf = async (id: string) => (await tenant.manage("GET", `/orchestration/connections/${id}`)).body.status;

describe("formulas", () => {
  it("are listed under both spellings, with the fields that a connection needs", async () => {
    const { status, body } = await tenant.manage("GET", "/orchestration/connection_formulas");
    expect(status).toBe(200);
    expect(body.map(({ id }: { id: string }) => id)).toEqual([
      "simulator-card",
      "stripe-card",
      "adyen-card",
      "checkoutcom-card",
      "authorizenet-card",
    ]);
    const stripe = body[1];
    expect(stripe).toMatchObject({ display_name: "Stripe", method: "card" });
    expect(stripe.fields[0]).toEqual({
      key: "secret_key",
      display_name: "Secret key",
      required: true,
      format: "text",
      secret: true,
    });
    expect(stripe.supported_currencies).toContain("EUR");
    expect(stripe.supported_features).toMatchObject({ partial_capture: true, over_capture: false, void: true });
    expect((await tenant.manage("GET", "/orchestration/connection/formulas")).body).toEqual(body);
  });
});

describe("a connection", () => {
  it("is pending when created, without its method and fields, and available as soon as its credentials are verified", async () => {
    const { status, body } = await tenant.manage("POST", "/orchestration/connections", { body: SIMULATOR });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      created_by: expect.any(String),
      created_at: expect.any(String),
      connection_formula_id: "simulator-card",
      display_name: "Laptop",
      status: "pending",
      accepted_countries: ["US", "DE"],
      accepted_currencies: ["USD", "EUR"],
      three_d_secure_enabled: true,
      active: true,
      webhook_url: expect.stringMatching(/^http.*\/orchestration\/webhooks\/\w{66}$/),
    });
    await vi.waitFor(async () => expect(await statusOf(body.id)).toBe("available"));
  });

  it("fails if the payment service rejects its credentials, and stays pending while that is unclear", async () => {
    const made = async (result: string) => {
      const fields = [...SIMULATOR.fields, { key: "verify_result", value: result }];
      return (await tenant.manage("POST", "/orchestration/connections", { body: { ...SIMULATOR, fields } })).body.id;
    };
    const [failing, waiting] = [await made("failed"), await made("pending")];
    await vi.waitFor(async () => expect(await statusOf(failing)).toBe("failed"));
    expect(await statusOf(waiting)).toBe("pending");
  });

  it("is listed as an array, by GET and by PUT, with its method and never with its fields", async () => {
    const { body } = await tenant.manage("GET", "/orchestration/connections");
    expect(body.length).toBeGreaterThan(1);
    for (const connection of body) {
      expect(connection.method).toBe("card");
      expect(connection).not.toHaveProperty("fields");
    }
    const put = await tenant.manage("PUT", "/orchestration/connections");
    expect(put.status).toBe(200);
    expect(put.body.map(({ id }: { id: string }) => id)).toEqual(body.map(({ id }: { id: string }) => id));
  });

  it("keeps its status if only its name changes, and is checked again if its fields do", async () => {
    const { id } = (await tenant.manage("POST", "/orchestration/connections", { body: SIMULATOR })).body;
    await vi.waitFor(async () => expect(await statusOf(id)).toBe("available"));
    const path = `/orchestration/connections/${id}`;
    const renamed = await tenant.manage("PUT", path, { body: { ...SIMULATOR, display_name: "Desk", active: false } });
    expect(renamed.body).toMatchObject({ display_name: "Desk", active: false, status: "available", method: "card" });
    const fields = [{ key: "merchant_id", value: "m-2" }];
    expect((await tenant.manage("PUT", path, { body: { ...SIMULATOR, fields } })).body.status).toBe("pending");
    await vi.waitFor(async () => expect(await statusOf(id)).toBe("available"));
  });

  it("accepts country and currency codes in lower case, and shows them in upper case", async () => {
    const lower = { accepted_countries: ["us", "US", "de"], accepted_currencies: ["eur"] };
    const { status, body } = await tenant.manage("POST", "/orchestration/connections", {
      body: { ...SIMULATOR, ...lower },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ accepted_countries: ["US", "DE"], accepted_currencies: ["EUR"] });
  });

  it("keeps a secret that is omitted, and clears one that is sent empty", async () => {
    const secret = { key: "webhook_secret", value: "s-1" };
    const fields = [...SIMULATOR.fields, secret];
    const { id } = (await tenant.manage("POST", "/orchestration/connections", { body: { ...SIMULATOR, fields } })).body;
    await vi.waitFor(async () => expect(await statusOf(id)).toBe("available"));
    const replaced = async (...more: object[]) => {
      const body = { ...SIMULATOR, fields: [...SIMULATOR.fields, ...more] };
      return tenant.manage("PUT", `/orchestration/connections/${id}`, { body });
    };
    // A connection whose fields are unchanged is not checked again.
    expect((await replaced()).body.status).toBe("available");
    expect((await replaced({ key: "webhook_secret" })).status).toBe(400);
    expect((await replaced({ key: "webhook_secret", value: "" })).body.status).toBe("pending");
  });

  it("is gone after it is deleted", async () => {
    const { id } = (await tenant.manage("POST", "/orchestration/connections", { body: SIMULATOR })).body;
    expect((await tenant.manage("DELETE", `/orchestration/connections/${id}`)).status).toBe(204);
    expect((await tenant.manage("GET", `/orchestration/connections/${id}`)).status).toBe(404);
    expect((await tenant.manage("DELETE", `/orchestration/connections/${id}`)).status).toBe(404);
  });

  it("leaves log rows without secrets", async () => {
    const { body } = await tenant.manage("GET", "/logs?entity_type=connection&size=100");
    const operations = body.data.map(({ operation }: { operation: string }) => operation);
    expect(new Set(operations)).toEqual(new Set(["create", "read", "list", "update", "delete"]));
    expect(JSON.stringify(body)).not.toContain("m-1");
  });
});

describe("bad input", () => {
  it.each([
    ["an unknown formula", { connection_formula_id: "paypal" }, "connection_formula_id"],
    ["another method", { method: "sepa" }, "method"],
    ["an unknown country", { accepted_countries: ["US", "XX"] }, "accepted_countries[1]"],
    ["an unknown currency", { accepted_currencies: ["USD", "usb"] }, "accepted_currencies[1]"],
    ["an unknown field", { fields: [{ key: "secret", value: "x" }] }, "fields[0].key"],
    ["a field without a value", { fields: [{ key: "merchant_id" }] }, "fields[0].value"],
    ["a field that is null", { fields: [{ key: "merchant_id", value: null }] }, "fields[0].value"],
    ["a field that is empty", { fields: [{ key: "merchant_id", value: "" }] }, "fields[0].value"],
    ["a missing field", { fields: [] }, "fields"],
    ["a field given twice", { fields: [SIMULATOR.fields[0], SIMULATOR.fields[0]] }, "fields[1].key"],
    ["an invalid number", { fields: [{ key: "latency_ms", value: "slow" }] }, "fields[0].value"],
    [
      "a missing secret",
      { connection_formula_id: "adyen-card", fields: [{ key: "merchant_account", value: "a" }] },
      "fields",
    ],
    ["no name", { display_name: undefined }, "display_name"],
    ["no currencies", { accepted_currencies: [] }, "accepted_currencies"],
  ])("%s is a 400 that names the field", async (_, change, field) => {
    const { status, body } = await tenant.manage("POST", "/orchestration/connections", {
      body: { ...SIMULATOR, ...change },
    });
    expect(status).toBe(400);
    expect(Object.keys(body.errors)).toEqual([field]);
  });

  it("an application without the permission gets 403", async () => {
    const backEnd = await tenant.backEnd();
    expect((await backEnd("POST", "/orchestration/connections", { body: SIMULATOR })).status).toBe(403);
    expect((await backEnd("GET", "/orchestration/connection_formulas")).status).toBe(403);
  });

  it("a connection of another tenant is not found", async () => {
    const other = await newTenant();
    const { id } = (await other.manage("POST", "/orchestration/connections", { body: SIMULATOR })).body;
    expect((await tenant.manage("GET", `/orchestration/connections/${id}`)).status).toBe(404);
    const replaced = await tenant.manage("PUT", `/orchestration/connections/${id}`, { body: SIMULATOR });
    expect(replaced.status).toBe(404);
  });
});
