import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { TenantService } from "../../../gen/cloakroom/v1/tenants_pb.js";
import { nextLink } from "../../support/mail.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { failureOf, rpcClient } from "../../support/rpc.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2035, cvc: "123" };

let stored: Stored;
beforeAll(async () => {
  stored = await openStored();
});
afterAll(async () => {
  await stored?.[Symbol.asyncDispose]();
});

/** Gives a tenant something of most kinds, of some more than one transaction removes. */
async function fill(tenant: TestTenant): Promise<{ readonly clients: readonly RestClient[]; readonly link: string }> {
  const backEnd = await tenant.backEnd();
  const front = await tenant.application({ type: "public", permissions: ["token:create"] });
  const { body: session } = await front("POST", "/sessions");
  await backEnd("POST", "/sessions/authorize", { body: { nonce: session.nonce, permissions: ["token:create"] } });
  const body = { type: "card", data: CARD, metadata: { colour: "red" }, expires_at: "2035-01-01" };
  const { body: token } = await backEnd("POST", "/tokens", { body, headers: { "BT-IDEMPOTENCY-KEY": "once" } });
  await backEnd("GET", `/tokens/${token.id}`);
  for (let batch = 0; batch < 8; batch += 1) {
    await backEnd("POST", "/tokenize", { body: Array.from({ length: 100 }, (_, index) => `value ${batch} ${index}`) });
  }
  const manage = (path: string, made: object) => tenant.manage("POST", path, { body: made });
  const { status } = await manage("/proxies", {
    name: "p",
    destination_url: "https://example.com",
    require_auth: false,
  });
  expect(status).toBe(201);
  const email = `gone-${tenant.id.slice(-12)}@example.com`;
  await manage("/tenants/self/invitations", { email });
  const link = await nextLink(email, 0);
  return { clients: [tenant.manage, backEnd, front, restClient(tenant.url, session.session_key)], link };
}

it("DELETE /tenants/self without tenant:delete is a 403", async () => {
  const tenant = await newTenant();
  const reader = await tenant.application({ type: "management", permissions: ["tenant:read", "tenant:update"] });
  expect((await reader("DELETE", "/tenants/self")).status).toBe(403);
  expect((await reader("GET", "/tenants/self")).status).toBe(200);
});

describe("a deleted tenant", () => {
  it("has no working key or link at once, and then no stored data; other tenants keep theirs", async () => {
    const tenant = await newTenant();
    const other = await newTenant();
    const neighbour = await other.backEnd();
    const { body: kept } = await neighbour("POST", "/tokens", { body: { type: "token", data: "kept" } });
    const { clients, link } = await fill(tenant);
    const statuses = () =>
      Promise.all(
        clients.flatMap((client) => [
          client("GET", "/tokens").then(({ status }) => status),
          client("POST", "/tokens", { body: { type: "token", data: "late" } }).then(({ status }) => status),
          client("GET", "/applications/key").then(({ status }) => status),
        ]),
      );
    expect(await statuses()).not.toContain(401);
    expect((await fetch(link)).status).toBe(200);
    expect(Object.keys(await stored.left(tenant.id))).toEqual(
      expect.arrayContaining([
        "tokens",
        "token_terms",
        "token_cvc",
        "sessions",
        "proxies",
        "invitations",
        "audit_logs",
      ]),
    );

    expect(await tenant.manage("DELETE", "/tenants/self")).toMatchObject({ status: 204, body: "" });

    expect(new Set(await statuses())).toEqual(new Set([401]));
    expect((await fetch(link)).status).toBe(404);
    expect((await fetch(link, { method: "POST", body: new URLSearchParams() })).status).toBe(404);
    const rpc = rpcClient(TenantService, "gRPC", { key: tenant.managementKey });
    expect(await failureOf(rpc.getTenant({}))).toMatchObject({ code: "Unauthenticated" });
    // Its keys are deleted before its rows.
    expect(await stored.left(tenant.id)).not.toHaveProperty("tenant_keys");

    await vi.waitFor(async () => expect(await stored.left(tenant.id)).toEqual({ tenants: 1, due: 1 }), {
      interval: 500,
    });
    expect(await neighbour("GET", `/tokens/${kept.id}`)).toMatchObject({ status: 200, body: { data: "kept" } });
    expect((await tenant.manage("DELETE", "/tenants/self")).status).toBe(401);
  });

  it("is deleted once by several concurrent requests, while others write", async () => {
    const tenant = await newTenant();
    const backEnd = await tenant.backEnd();
    const write = () => backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
    const responses = await Promise.all([
      ...Array.from({ length: 20 }, write),
      ...Array.from({ length: 4 }, () => tenant.manage("DELETE", "/tenants/self")),
      ...Array.from({ length: 20 }, write),
    ]);
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 204)).toHaveLength(1);
    // A second concurrent request finds no tenant any more.
    for (const status of statuses) expect([201, 204, 401, 404]).toContain(status);
    expect((await write()).status).toBe(401);
  });
});
