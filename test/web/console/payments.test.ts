// Needs: chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchBrowser } from "../../support/browser.js";
import { openShop, type Shop } from "../../support/payments.js";
import { memberOf, openConsole } from "./support/console.js";

let browser: Browser;
let shop: Shop;
beforeAll(async () => {
  [browser, shop] = await Promise.all([launchBrowser(), openShop()]);
});
afterAll(() => browser.close());

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
