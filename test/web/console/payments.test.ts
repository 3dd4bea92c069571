// Needs: chromium
import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AMOUNTS, CARDS } from "../../../src/web/console/screens/payments/simulator-cards.js";
import { sharedBrowser } from "../../support/browser.js";
import { openShop, type Shop } from "../../support/payments.js";
import { newTenant } from "../../support/tenant.js";
import { memberOf, openConsole } from "./support/console.js";

let browser: Browser;
let shop: Shop;
beforeAll(async () => {
  [browser, shop] = await Promise.all([sharedBrowser(), openShop()]);
});
afterAll(() => browser.close());

describe("the simulator", () => {
  it("has the cards and amounts that its guide lists", () => {
    const guide = readFileSync(new URL("../../../docs/payments.md", import.meta.url), "utf8");
    const rows = new Map([...guide.matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)].map(([, what, effect]) => [what, effect]));
    for (const [number, effect] of CARDS.slice(1)) {
      expect(rows.get(number.replace(/(\d{4})(?=\d)/g, "$1 "))).toBe(effect);
    }
    expect(rows.get("4242 4242 4242 4242 and all others")).toBe(CARDS[0]?.[1]);
    for (const [amount] of AMOUNTS) expect(guide).toContain(amount);
  });

  it("is paid with a test card that a person chooses", async () => {
    await using console = await openConsole(browser, shop.tenant, await memberOf(shop.tenant, "ADMIN"));
    const { page } = console;
    await console.go("/payments");
    await page.getByRole("link", { name: "Try a payment" }).click();
    await page.getByLabel("Amount in minor units").fill("1.5");
    await page.getByText("must be a whole number").waitFor();
    await page.getByLabel("Amount in minor units").fill("2350");
    await page.getByText("US$23.50").waitFor();
    await console.expectAccessible();
    await page.getByLabel("Card").selectOption("4000000000000002");
    await page.getByRole("button", { name: "Pay" }).click();
    await page.getByText("authorization declined").waitFor();
    await page.getByText("issuer_decline").first().waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("shows where the cardholder approves, and is asked for the result", async () => {
    await using console = await openConsole(browser, shop.tenant, await memberOf(shop.tenant, "ADMIN"));
    const { page } = console;
    await console.go("/payments?try=1");
    await page.getByLabel("Card").selectOption("4000000000003220");
    await page.getByRole("button", { name: "Pay" }).click();
    const approval = page.getByRole("link", { name: "Open the cardholder's page" });
    await console.expectAccessible();
    const bank = await console.context.newPage();
    await bank.goto((await approval.getAttribute("href")) ?? "");
    await bank.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("button", { name: "Ask the payment service" }).click();
    await page.getByText("authorization succeeded").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("is offered to be connected where it is not yet, which needs a second factor", async () => {
    const tenant = await newTenant();
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "OWNER"), {
      expected: /status of 403/,
    });
    const { page } = console;
    await console.go("/payments");
    await page.getByRole("link", { name: "Try a payment" }).first().click();
    await page.getByRole("button", { name: "Connect the simulator" }).click();
    await page.getByRole("button", { name: "Add a passkey" }).waitFor();
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });
});

describe("a payment", () => {
  it("is captured and refunded in part, with its timeline", async () => {
    const { status, body } = await shop.pay({ amount: 123_456, intent: "authorize" });
    expect(status).toBe(201);
    await shop.until(body.id, "authorization_succeeded");
    await using console = await openConsole(browser, shop.tenant, await memberOf(shop.tenant, "OWNER"));
    const { page } = console;
    await console.go("/payments");
    await page.getByRole("link", { name: "US$1,234.56" }).click();
    await page.getByRole("button", { name: "Capture" }).click();
    await console.expectAccessible();
    await page.getByRole("dialog").getByRole("button", { name: "Capture" }).click();
    await page.getByRole("button", { name: "Refund" }).click();
    await page.getByLabel("Amount in minor units").fill("1.5");
    await page.getByText("must be a whole number").waitFor();
    await page.getByLabel("Amount in minor units").fill("456");
    await page.getByRole("dialog").getByRole("button", { name: "Refund" }).click();
    await page.getByRole("cell", { name: "US$4.56" }).waitFor();
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });

  it("is read by an AUDITOR, who can change nothing", async () => {
    const { body } = await shop.pay({ intent: "authorize" });
    await shop.until(body.id, "authorization_succeeded");
    await using console = await openConsole(browser, shop.tenant, await memberOf(shop.tenant, "AUDITOR"));
    const { page } = console;
    await console.go(`/payments?id=${body.id}`);
    await page.getByText("Timeline").waitFor();
    for (const name of ["Capture", "Void", "Refund"]) {
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    }
    expect(console.wrongs).toEqual([]);
  });
});
