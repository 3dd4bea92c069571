// Needs: chromium
import { mkdirSync } from "node:fs";
import { expect, inject, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newMember } from "../../support/member.js";
import { newTenant } from "../../support/tenant.js";
import { openConsole } from "./support/console.js";

it("shots", { timeout: 900_000 }, async () => {
  const tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const shop = await tenant.application({ type: "public", permissions: ["token:create"] });
  const named = async (path: string, body: object) => {
    const r = await tenant.manage("POST", path, { body });
    expect([path, r.status, r.body]).toEqual([path, expect.toSatisfy((s: number) => s < 300), r.body]);
    return r.body;
  };
  for (const [i, name] of ["Checkout", "Billing back end", "Fraud screening", "Support desk", "Data export"].entries())
    await named("/applications", { name, type: i === 0 ? "public" : "private", ...(i === 0 ? { permissions: ["token:create"] } : { rules: [{ priority: 1, container: "/pci/", transform: i % 2 ? "reveal" : "mask", permissions: ["token:read", "token:search"] }, { priority: 2, container: "/", transform: "mask", permissions: ["token:read"] }] }) });
  const ids: string[] = [];
  for (let i = 0; i < 25; i++) {
    const r = await backEnd("POST", "/tokens", { body: i % 3 ? { type: "card", data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 }, containers: ["/pci/high/"], metadata: { order: String(1000 + i) } } : { type: "token", data: `value ${i}`, metadata: { customer: `c-${i}` } } });
    ids.push(r.body.id);
  }
  for (const id of ids) await backEnd("GET", `/tokens/${id}`);
  const proxy = await named("/proxies", { name: "To the acquirer", destination_url: "https://acquirer.example.com/v1/charges", request_transform: { code: "module.exports = async (req) => { return { body: req.args.body, headers: req.args.headers }; };" } });
  const reactor = await named("/reactors", { name: "Check address", code: "module.exports = async (req) => { return { raw: { ok: true } }; };" });
  await named("/webhooks", { name: "Orders", url: "https://shop.example.com/hook", events: ["token.created", "token.deleted"] });
  const con = await named("/orchestration/connections", { connection_formula_id: "simulator-card", method: "card", display_name: "Simulator", fields: [{ key: "merchant_id", value: "m" }], accepted_countries: ["US", "DE"], accepted_currencies: ["USD", "EUR"] });
  const pay = await tenant.application({ type: "private", permissions: ["token:use", "token:create", "token:read"] });
  for (const amount of [1000, 2500, 900]) await pay("POST", "/orchestration/transactions", { body: { amount, currency: "USD", country: "US", token: ids[1], connection_id: con.id } });
  for (let i = 0; i < 4; i++) {
    const { body } = await shop("POST", "/sessions");
    if (i % 2) await backEnd("POST", "/sessions/authorize", { body: { nonce: body.nonce, rules: [{ priority: 1, container: "/", transform: i === 1 ? "reveal" : "mask", permissions: ["token:read"] }] } });
  }
  for (const role of ["ADMIN", "AUDITOR", "DEVELOPER"] as const) await newMember(tenant, role);
  await named("/tenants/self/invitations", { email: "grace@example.com", role: "AUDITOR" });
  const { body: apps } = await tenant.manage("GET", "/applications?name=Fraud");
  const { body: cons } = await tenant.manage("GET", "/orchestration/connections");
  const places = {
    home: "/", tokens: "/tokens", token: `/tokens?id=${ids[1]}`, newtoken: "/tokens?new=1", access: "/access", imports: "/imports", exports: "/exports",
    applications: "/applications", application: `/applications?id=${apps.data[0].id}`, newapp: "/applications?new=1", sessions: "/sessions", proxies: "/proxies", proxy: `/proxies?id=${proxy.id}`,
    reactors: "/reactors", reactor: `/reactors?id=${reactor.id}`, formulas: "/formulas", webhooks: "/webhooks", payments: "/payments", connections: "/connections", connection: `/connections?id=${cons[0].id}`,
    log: "/log", usage: "/usage", members: "/members", settings: "/settings", signins: "/sign-ins",
  };
  mkdirSync("/tmp/face-shots", { recursive: true });
  const browser = await sharedBrowser();
  for (const width of (process.env.SHOT_WIDTHS ?? "375,1280,2200").split(",").map(Number)) {
    for (const scheme of ["light", "dark"] as const) {
      await using console = await openConsole(browser, tenant, "owner@example.com", { width, scheme });
      await console.page.setViewportSize({ width, height: width > 2000 ? 1300 : width > 1000 ? 900 : 800 });
      for (const [name, path] of Object.entries(places)) {
        if (process.env.SHOT_ONLY && !process.env.SHOT_ONLY.split(",").includes(name)) continue;
        await console.follow(path);
        await console.page.locator("main h1").waitFor();
        await console.settle();
        await console.page.screenshot({ path: `/tmp/face-shots/${name}-${width}-${scheme}.png` });
      }
      for (const [name, path] of Object.entries({ docs: "/docs", guide: "/docs/guides/webhooks", reference: "/docs/reference/tokens" })) {
        if (process.env.SHOT_ONLY && !process.env.SHOT_ONLY.split(",").includes(name)) continue;
        await console.page.goto(`${inject("serverUrl")}${path}`);
        await console.page.waitForLoadState();
        await console.page.screenshot({ path: `/tmp/face-shots/${name}-${width}-${scheme}.png` });
      }
    }
  }
  await browser.close();
});
