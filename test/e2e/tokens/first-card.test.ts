import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";

describe("a first card", () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await newTenant();
  });

  it("is tokenized and read back by a caller who may see it, and masked for all others", async () => {
    const backEnd = await tenant.backEnd();
    const data = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" };
    const created = await backEnd("POST", "/tokens", { body: { type: "card", data } });
    expect(created.status).toBe(201);
    expect(created.headers.get("location")).toBe(`/tokens/${created.body.id}`);

    const revealed = await backEnd("GET", `/tokens/${created.body.id}`);
    expect(revealed).toMatchObject({ status: 200, body: { id: created.body.id, type: "card", data } });

    const clerk = await tenant.application({ type: "private", permissions: ["token:read"] });
    const masked = await clerk("GET", `/tokens/${created.body.id}`);
    const mask = { number: "XXXXXXXXXXXX4242", expiration_month: 12, expiration_year: 2030 };
    expect(masked.status).toBe(200);
    expect(masked.body).toMatchObject({ data: mask, mask });
    expect(JSON.stringify(masked.body)).not.toContain("4242424242424242");
  });
});
