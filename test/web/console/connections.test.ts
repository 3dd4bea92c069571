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
    expect(await page.locator("main").getByRole("button").allTextContents()).toEqual(["Copy", "Copy address"]);
    await console.go("/connections?new=1");
    await page.getByText("Your role AUDITOR may not call").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("is not replaced without a question if another tab has changed it since", async () => {
    const tenant = await newTenant();
    await using console = await openOwner(browser, tenant, { expected: /status of 40[0-9]/ });
    const made = await tenant.manage("POST", "/orchestration/connections", { body: SIMULATED });
    const path = `/connections?id=${made.body.id}`;
    const { page: first, context } = console;
    await console.go(path);
    const second = await context.newPage();
    await second.goto(first.url());
    for (const page of [first, second]) {
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Merchant id").fill("m-1");
    }
    await first.getByLabel("Name").fill("By the first tab");
    await first.getByRole("button", { name: "Save" }).click();
    await first.getByRole("button", { name: "Add a passkey" }).click();
    await first.getByText("Proved for five minutes").waitFor();
    await first.getByRole("button", { name: "Save" }).click();
    await first.getByRole("heading", { level: 1, name: "By the first tab" }).waitFor();
    await first.getByText("Changed by").waitFor();
    await second.getByLabel("Name").fill("By the second tab");
    await second.getByRole("button", { name: "Save" }).click();
    await second.getByText("Somebody else has saved a newer version").waitFor();
    const stored = async () => (await tenant.manage("GET", `/orchestration/connections/${made.body.id}`)).body;
    const { display_name: name, created_at: at, modified_at: changedAt } = await stored();
    expect([name, at < changedAt]).toEqual(["By the first tab", true]);
    await second.getByRole("button", { name: "Save over the newer version" }).click();
    await second.getByRole("heading", { level: 1, name: "By the second tab" }).waitFor();
    expect((await stored()).display_name).toBe("By the second tab");
    expect(console.wrongs).toEqual([]);
  });
});

const SIMULATED = {
  connection_formula_id: "simulator-card",
  method: "card",
  display_name: "Edited twice",
  fields: [{ key: "merchant_id", value: "m-1" }],
  accepted_countries: ["US"],
  accepted_currencies: ["USD"],
};
