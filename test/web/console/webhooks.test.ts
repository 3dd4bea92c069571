// Needs: chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { startReceiver } from "../../support/receiver.js";
import { newTenant } from "../../support/tenant.js";
import { memberOf, openConsole, openOwner } from "./support/console.js";

let browser: Browser;
beforeAll(async () => {
  browser = await sharedBrowser();
});
afterAll(() => browser.close());

describe("a webhook", () => {
  it("is made with a secret that is shown once, tried, changed, disabled, enabled and deleted", async () => {
    await using receiver = await startReceiver();
    const tenant = await newTenant();
    await using console = await openOwner(browser, tenant, { expected: /status of 40[0-9]/ });
    const { page } = console;
    await console.go("/webhooks");
    await page.getByText("There are no webhooks.").waitFor();
    await page.getByRole("link", { name: "New webhook" }).first().click();
    await page.getByLabel("Name").fill("Shop");
    await page.getByLabel("Address").fill("http://shop.example.com");
    await page.getByLabel("token.created").check();
    await page.getByLabel("proxy", { exact: true }).check();
    await page.getByText("Events, 5 chosen").waitFor();
    const submit = page.getByRole("button", { name: "Create webhook and secret" });
    await submit.click();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("Proved for five minutes").waitFor();
    await submit.click();
    await page.locator(".field .wrong").first().waitFor();
    await console.expectAccessible();
    await page.getByLabel("Address").fill(receiver.url);
    await submit.click();
    await page.getByText("Copy the secret now.").waitFor();
    await console.expectAccessible();
    const secret = (await page.locator("[data-secret]").textContent()) ?? "";
    expect(secret).toMatch(/^whsec_/);
    await page.getByRole("link", { name: "Go to the webhook" }).click();
    await page.getByText("Nothing was sent yet.").waitFor();
    expect(await page.content()).not.toContain(secret);

    await page.getByRole("button", { name: "Send a test event" }).click();
    const row = page.getByRole("row", { name: /webhook\.test/ });
    await row.getByText("delivered").waitFor();
    await row.getByText(/^20[04]/).waitFor();
    await row.getByRole("button", { name: "Show" }).click();
    const delivery = page.getByRole("dialog", { name: "Delivery" });
    await delivery.getByText('"webhook.test"').waitFor();
    await console.expectAccessible();
    await delivery.getByRole("button", { name: "Close" }).click();
    await row.getByRole("button", { name: "Send again" }).click();
    await expect.poll(() => receiver.received.length).toBe(2);
    const ids = receiver.received.map(({ body }) => JSON.parse(body).event.id);
    expect(new Set(ids).size).toBe(1);

    await page.getByRole("button", { name: "Rotate secret" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
    await page.getByText("Copy the secret now.").waitFor();
    await page.getByText("signs requests too, until").waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Name").fill("Shop 2");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Shop 2" }).waitFor();
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await page.getByText("disabled", { exact: true }).waitFor();
    await console.settle();
    await console.expectAccessible();
    expect(await page.getByRole("button", { name: "Send a test event" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByText("enabled", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("There are no webhooks.").waitFor();
    expect((await tenant.manage("GET", "/webhooks")).body.data).toEqual([]);
    expect(console.wrongs).toEqual([]);
  });

  it("is kept as another person saved it meanwhile, until somebody decides", async () => {
    const tenant = await newTenant();
    const given = { name: "Of two", url: "https://shop.example.com/", events: ["token.created"] };
    const { body } = await tenant.manage("POST", "/webhooks", { body: given });
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "ADMIN"));
    const { page } = console;
    await console.go(`/webhooks?id=${body.id}`);
    await page.getByRole("button", { name: "Edit" }).click();
    await tenant.manage("PUT", `/webhooks/${body.id}`, { body: { ...given, name: "By a program" } });
    await page.getByLabel("Name").fill("By the console");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Somebody else has saved a newer version").waitFor();
    expect((await tenant.manage("GET", `/webhooks/${body.id}`)).body.name).toBe("By a program");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").getByRole("button").last().click();
    expect(console.wrongs).toEqual([]);
  });

  it("shows a DEVELOPER its deliveries, and offers no change; a lost network is reported, and what failed is read again after it", async () => {
    const tenant = await newTenant();
    const given = { name: "Read only", url: "https://shop.example.com/", events: ["token.created"] };
    const { body } = await tenant.manage("POST", "/webhooks", { body: given });
    const email = await memberOf(tenant, "DEVELOPER");
    await using console = await openConsole(browser, tenant, email, { expected: /ERR_INTERNET_DISCONNECTED/ });
    const { page } = console;
    await console.go(`/webhooks?id=${body.id}`);
    await page.getByText("Nothing was sent yet.").waitFor();
    const buttons = await page.locator("main").getByRole("button").allTextContents();
    expect(buttons).toEqual(["Copy", "Refresh"]);
    await console.context.setOffline(true);
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.getByText("The vault does not respond.").first().waitFor();
    await page.getByText("Nothing was sent yet.").waitFor();
    await console.context.setOffline(false);
    await page.getByText("The vault does not respond.").waitFor({ state: "detached" });
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });
});
