import { beforeAll, describe, expect, it } from "vitest";
import { connect, openShop } from "../../support/payments.js";
import type { RestClient } from "../../support/rest.js";
import { openStored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
let manage: RestClient;
beforeAll(async () => {
  tenant = await newTenant();
  ({ manage } = tenant);
});

const pageTooLarge = (what: string) => ({
  size: [`must be smaller: the ${what} of this page have more than 8388608 bytes together`],
});

describe("an application", () => {
  it("has at most 100 keys, also if they are made at the same time", async () => {
    const { id } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const create = () => manage("POST", `/applications/${id}/keys`);
    for (let made = 1; made < 96; made += 19) await Promise.all(Array.from({ length: 19 }, create));
    const statuses = (await Promise.all(Array.from({ length: 12 }, create))).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([...Array(4).fill(201), ...Array(8).fill(422)]);
    const { body: application } = await manage("GET", `/applications/${id}`);
    expect(application.keys).toHaveLength(100);
    const [{ id: first }] = application.keys;
    expect((await manage("DELETE", `/applications/${id}/keys/${first}`)).status).toBe(204);
    expect((await create()).status).toBe(201);
    const { status, body } = await create();
    expect([status, body.code, body.detail]).toEqual([
      422,
      "unprocessable",
      "The application has 100 keys, and may have at most 100. Delete one that is not used.",
    ]);
  });

  it("has rules of at most 100,000 characters, as has a session", async () => {
    const rule = (priority: number) => ({
      ...{ description: "d".repeat(400), priority, container: `/${"c".repeat(390)}/` },
      ...{ transform: "mask", permissions: ["token:read", "token:read"] },
    });
    const rules = Array.from({ length: 100 }, (_, index) => rule(index + 1));
    const small = await manage("POST", "/applications", { body: { name: "A", type: "private", rules } });
    expect(small.status).toBe(201);
    expect(small.body.rules[0].permissions).toEqual(["token:read"]);
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const backEnd = await tenant.backEnd();
    const { body: session } = await page("POST", "/sessions");
    const conditions = Array.from({ length: 20 }, (_, index) => ({
      ...{ attribute: "id", operator: "starts_with", value: `${index}${"v".repeat(390)}` },
    }));
    const wide = Array.from({ length: 20 }, (_, index) => ({
      ...{ priority: index + 1, transform: "mask", permissions: ["token:read"], conditions },
    }));
    const refused = await backEnd("POST", "/sessions/authorize", { body: { nonce: session.nonce, rules: wide } });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      { rules: ["must have at most 100000 characters in all"] },
    ]);
  });
});

describe("pages of large entities are measured before they are read", () => {
  it("reactors count with their formulas, also in a search by name", async () => {
    const own = await newTenant();
    const code = `module.exports = async () => ({}); // ${"\u6f22".repeat(49_000)}`;
    const formula = { type: "private", name: "F", code, configuration: [], request_parameters: [] };
    const { status, body } = await own.manage("POST", "/reactor-formulas", { body: formula });
    expect([status, body.errors]).toEqual([201, undefined]);
    const make = () =>
      own.manage("POST", "/reactors", { body: { name: "R", formula: { id: body.id }, configuration: {} } });
    const made = await Promise.all(Array.from({ length: 60 }, make));
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
    for (const query of ["size=60", "size=60&name=R"]) {
      const page = await own.manage("GET", `/reactors?${query}`);
      expect([page.status, page.body.errors]).toEqual([400, pageTooLarge("reactors")]);
    }
    const page = await own.manage("GET", "/reactors?size=50");
    expect([page.status, page.body.data.length, page.body.pagination.total_items]).toEqual([200, 50, 60]);
  });
});

describe("payments", () => {
  it("have at most 1,000 refunds, and a tenant has at most 1,000 connections", async () => {
    await using stored = await openStored();
    const shop = await openShop();
    const { id: tenantId } = shop.tenant;
    const { body: payment } = await shop.pay({ intent: "capture" });
    const path = `/orchestration/transactions/${payment.id}/refunds`;
    const refund = () => shop.backEnd("POST", path, { body: { amount: 1 } });
    expect((await refund()).status).toBe(201);
    await stored.change(
      tenantId,
      `insert into refunds select tenant_id, gen_random_uuid(), payment_id, record, revision, created_at
       from refunds, generate_series(2, 1000) where tenant_id = '${tenantId}'`,
    );
    const tooMany = await refund();
    expect([tooMany.status, tooMany.body.code]).toEqual([409, "wrong_state"]);
    expect(tooMany.body.detail).toMatch(/it has 1000 refunds, and may have at most 1000\.$/);

    await stored.change(
      tenantId,
      `insert into connections select tenant_id, gen_random_uuid(), formula_id, name, fields, accepted_countries,
         accepted_currencies, active, status, checks, null, revision, created_by, created_at
       from connections, generate_series(2, 1000) where tenant_id = '${tenantId}'`,
    );
    await expect(connect(shop.tenant)).rejects.toThrow("at most 1000 connections");
  });
});
