import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const PUBLIC = { name: "Shop", type: "public", permissions: ["token:create"] };
const create = (definition: object) => tenant.manage("POST", "/applications", { body: { ...PUBLIC, ...definition } });

describe("the allowed origins of an application", () => {
  it("are stored, read, listed and replaced", async () => {
    const origins = ["https://shop.example.com", "https://shop.example.com:8443", "http://localhost:3000"];
    const { status, body } = await create({ allowed_origins: origins });
    expect([status, body.allowed_origins]).toEqual([201, origins]);
    const path = `/applications/${body.id}`;
    expect((await tenant.manage("GET", path)).body.allowed_origins).toEqual(origins);
    expect((await tenant.manage("GET", `/applications?id=${body.id}`)).body.data[0].allowed_origins).toEqual(origins);
    const replaced = { ...PUBLIC, allowed_origins: ["https://other.example.com"] };
    expect((await tenant.manage("PUT", path, { body: replaced })).body.allowed_origins).toEqual([
      "https://other.example.com",
    ]);
    const without = await tenant.manage("PUT", path, { body: { ...PUBLIC, allowed_origins: [] } });
    expect(without.status).toBe(200);
    expect(without.body).not.toHaveProperty("allowed_origins");
  });

  it("are kept by a PUT of a client that does not know them", async () => {
    const origins = ["https://shop.example.com"];
    const { body } = await create({ allowed_origins: origins });
    for (const definition of [PUBLIC, { ...PUBLIC, allowed_origins: null }]) {
      const { status, body: changed } = await tenant.manage("PUT", `/applications/${body.id}`, { body: definition });
      expect([status, changed.allowed_origins]).toEqual([200, origins]);
    }
    const wrong = [
      [{ allowed_origins: "https://a.example" }, { allowed_origins: ["must be a list of at most 50 origins"] }],
      [{ allowed_origins: [7] }, { "allowed_origins[0]": ["must be a string of at most 300 characters"] }],
      [
        { allowed_origins: ["https://a.example/"] },
        { "allowed_origins[0]": [expect.stringContaining("as browsers do")] },
      ],
    ];
    for (const [given, errors] of wrong) {
      const refused = await tenant.manage("PUT", `/applications/${body.id}`, { body: { ...PUBLIC, ...given } });
      expect([refused.status, refused.body.errors]).toEqual([400, errors]);
    }
  });

  it.each([
    ["https://*.example.com", "wildcard"],
    ["example.com", "such as https://"],
    ["ftp://example.com", "such as https://"],
    ["https://example.com/", "written as browsers do: https://example.com"],
    ["https://EXAMPLE.com", "written as browsers do: https://example.com"],
    ["https://example.com:443", "written as browsers do: https://example.com"],
    ["https://example.com/shop", "written as browsers do"],
    ["https://user@example.com", "written as browsers do"],
    ["http://example.com", "must use https"],
    ["http://localhost.example.com", "must use https"],
    ["https://a.example.com; script-src *", "without a wildcard"],
  ])("cannot be %s", async (origin, expected) => {
    const { status, body } = await create({ allowed_origins: ["https://shop.example.com", origin] });
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(body.errors["allowed_origins[1]"][0]).toContain(expected);
  });

  it("cannot repeat, be more than 50, or belong to an application that has no page", async () => {
    const twice = await create({ allowed_origins: ["https://a.example", "https://a.example"] });
    expect(twice.body.errors["allowed_origins[1]"]).toEqual(["must not repeat an origin"]);
    const many = Array.from({ length: 51 }, (_, index) => `https://${index}.example`);
    expect((await create({ allowed_origins: many })).body.errors).toHaveProperty("allowed_origins");
    expect((await create({ allowed_origins: many.slice(1) })).status).toBe(201);
    const { status, body } = await create({ type: "private", allowed_origins: ["https://a.example"] });
    expect(status).toBe(400);
    expect(body.errors.allowed_origins).toEqual(["must be empty: only public applications have pages"]);
  });
});
