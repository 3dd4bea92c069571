// Needs: chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant } from "../../support/tenant.js";
import { memberOf, openConsole, openOwner } from "./support/console.js";

let browser: Browser;
beforeAll(async () => {
  browser = await sharedBrowser();
});
afterAll(() => browser.close());

describe("a connection", () => {
  it("is made with its service's fields, checked, changed without showing a secret, and deleted", async () => {
    const tenant = await newTenant();
    await using console = await openOwner(browser, tenant, { expected: /status of 40[0-9]/ });
    const { page } = console;
    await console.go("/connections");
    await page.getByText("There are no connections.").waitFor();
    await page.getByRole("link", { name: "New connection" }).first().click();
    await page.getByLabel("Payment service").selectOption({ label: "Stripe" });
    expect(await page.getByLabel("Secret key").getAttribute("type")).toBe("password");
    await page.getByLabel("Payment service").selectOption("simulator-card");
    await page.getByLabel("Name").fill("Tries");
    await page.getByLabel("Merchant id").fill("m-1");
    await page.getByLabel("Currencies").fill("EUR xxq");
    const submit = page.getByRole("button", { name: "Create connection" });
    await submit.click();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("Proved for five minutes").waitFor();
    await submit.click();
    await page.getByText("must be an ISO 4217 code that the formula supports").waitFor();
    await console.expectAccessible();
    await page.getByLabel("Currencies").fill("EUR, usd");
    await submit.click();
    await page.getByRole("heading", { level: 1, name: "Tries" }).waitFor();
    await page.getByText("available", { exact: true }).waitFor();
    await page.getByText("EUR, USD").waitFor();
    await console.settle();
    await console.expectAccessible();

    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Merchant id").fill(" m-2");
    await page.getByLabel("Takes payments").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".field", { hasText: "Merchant id" }).getByText("must be printable ASCII").waitFor();
    await console.expectAccessible();
    await page.getByLabel("Merchant id").fill("m-2");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("switched off").waitFor();
    const { body } = await tenant.manage("GET", "/orchestration/connections");
    expect(body).toMatchObject([{ display_name: "Tries", active: false, accepted_currencies: ["EUR", "USD"] }]);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("There are no connections.").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("says so if the service refuses it, and an AUDITOR sees it without a change to make", async () => {
    const tenant = await newTenant();
    const fields = [
      { key: "merchant_id", value: "m-1" },
      { key: "verify_result", value: "failed" },
    ];
    const made = await tenant.manage("POST", "/orchestration/connections", {
      body: {
        ...{ connection_formula_id: "simulator-card", method: "card", display_name: "<b>Refused</b>", fields },
        ...{ accepted_countries: ["US"], accepted_currencies: ["USD"] },
      },
    });
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "AUDITOR"));
    const { page } = console;
    await expect
      .poll(async () => (await tenant.manage("GET", `/orchestration/connections/${made.body.id}`)).body.status)
      .toBe("failed");
    await console.go("/connections");
    await page.getByRole("link", { name: "<b>Refused</b>" }).click();
    await page.getByText("The payment service refused the account.").waitFor();
    await console.settle();
    await console.expectAccessible();
    expect(await page.locator("main").getByRole("button").allTextContents()).toEqual(["Copy address"]);
    await console.go("/connections?new=1");
    await page.getByText("Your role AUDITOR may not call").waitFor();
    expect(console.wrongs).toEqual([]);
  });
});
