import { beforeAll, describe, expect, inject, it } from "vitest";
import { nextLink } from "../../support/mail.js";
import { openShop, PAYING } from "../../support/payments.js";
import type { RestClient } from "../../support/rest.js";

const url = inject("serverUrl");
const CHALLENGED = "4000000000003220";

/** The addresses of our pages, by name. */
const pages = new Map<string, string>();
const PAGES = ["docs", "invitation", "simulator approval", "3DS challenge", "payment return"] as const;

beforeAll(async () => {
  const shop = await openShop();
  const email = `pages-${shop.tenant.id.slice(-12)}@example.com`;
  await shop.tenant.manage("POST", "/tenants/self/invitations", { body: { email } });
  pages.set("docs", `${url}/docs`);
  pages.set("invitation", await nextLink(email, 0));
  pages.set("3DS challenge", await challenge(shop.tenant.application, await shop.card(CHALLENGED)));
  const { body } = await shop.pay({}, CHALLENGED);
  const approval = String(body.payment_method.approval_url);
  pages.set("simulator approval", approval);
  const { body: decided } = await shop.pay({}, CHALLENGED);
  const form = new URLSearchParams({ choice: "approve" });
  const address = decided.payment_method.approval_url;
  const { headers } = await fetch(address, { method: "POST", body: form, redirect: "manual" });
  pages.set("payment return", headers.get("location") ?? "");
});

async function challenge(
  application: (definition: { type: "private"; permissions: string[] }) => Promise<RestClient>,
  token_id: string,
): Promise<string> {
  const permissions = [...PAYING, "3ds:session:create", "3ds:session:authenticate"];
  const client = await application({ type: "private", permissions });
  const { body } = await client("POST", "/3ds/sessions", { body: { token_id, device: "browser" } });
  const purchase = { amount: "1000", currency: "840", exponent: "2", date: "20260102030405" };
  const authentication = {
    authentication_category: "payment",
    authentication_type: "payment-transaction",
    cardholder_info: { name: "Ada" },
    purchase_info: purchase,
  };
  const response = await client("POST", `/3ds/sessions/${body.id}/authenticate`, { body: authentication });
  return response.body.acs_challenge_url;
}

const addressOf = (name: string) => pages.get(name) ?? "";

/** A page as a browser requests it, at a valid address or not. */
const ask = (address: string, dest = "document", mode = "navigate") =>
  fetch(address, { headers: { "Sec-Fetch-Dest": dest, "Sec-Fetch-Mode": mode, "Sec-Fetch-Site": "cross-site" } });

function expectPage(headers: Headers): void {
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
  const policy = headers.get("content-security-policy") ?? "";
  const directives = new Map(policy.split("; ").map((text) => [text.split(" ")[0], text.split(" ").slice(1)]));
  expect(directives.get("default-src")).toEqual(["'none'"]);
  expect(directives.get("frame-ancestors")).toEqual(["'none'"]);
  expect(directives.get("base-uri")).toEqual(["'none'"]);
  expect(directives.has("form-action")).toBe(true);
  // Scripts come from our own files, if at all; `worker-src` would fall back to `script-src`.
  if (directives.has("script-src")) {
    expect([directives.get("script-src"), directives.get("worker-src")]).toEqual([["'self'"], ["'none'"]]);
  }
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
}

describe("a page of the vault", () => {
  it.each(PAGES)("has a strict policy in its headers: %s", async (name) => {
    const response = await ask(addressOf(name));
    expect(response.status).toBe(200);
    expectPage(response.headers);
    expect(await response.text()).not.toMatch(/<script(?![^>]* src=)| on[a-z]+=/i);
  });

  it.each(PAGES.slice(1))("has the policy on its error pages too: %s", async (name) => {
    const response = await ask(`${addressOf(name)}x`);
    expect(response.status).toBe(404);
    expectPage(response.headers);
  });

  it.each(PAGES.slice(1))("cannot be a resource of another page: %s", async (name) => {
    for (const dest of ["script", "style", "worker", "serviceworker", "font", "image", "object", "embed"]) {
      const response = await ask(addressOf(name), dest, "no-cors");
      expect([dest, response.status]).toEqual([dest, 403]);
      expectPage(response.headers);
    }
  });
});

describe("a response of the API", () => {
  it.each([
    ["GET", "/tokens"],
    ["GET", "/nope"],
    ["PUT", "/tokens"],
    ["GET", "/tokens/%E0"],
    ["GET", "/healthz"],
    ["GET", "/readyz"],
    ["GET", "/proxy/x"],
    ["POST", "/orchestration/webhooks/x"],
    ["POST", "/cloakroom.v1.TokenService/CreateToken"],
    ["OPTIONS", "/tokens"],
  ])("cannot be run or framed by a browser: %s %s", async (method, path) => {
    const { headers } = await fetch(`${url}${path}`, { method });
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toMatch(/^sandbox; default-src 'none'; .*frame-ancestors 'none'$/);
  });

  it("is denied to a browser that would open it as a page or load it as part of one", async () => {
    for (const dest of ["document", "iframe", "script", "style", "font", "worker"]) {
      const response = await ask(`${url}/tokens`, dest, dest === "document" ? "navigate" : "no-cors");
      expect([dest, response.status]).toEqual([dest, 403]);
      expect(await response.json()).toMatchObject({ code: "permission_denied" });
    }
    expect((await ask(`${url}/tokens`, "empty", "cors")).status).toBe(401);
  });
});
