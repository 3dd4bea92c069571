// Needs: chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { memberOf, openConsole } from "./support/console.js";

let browser: Browser;
let tenant: TestTenant;
beforeAll(async () => {
  [browser, tenant] = await Promise.all([sharedBrowser(), newTenant()]);
});
afterAll(() => browser.close());

const NUMBER = "4242424242424242";

describe("a token in the console", () => {
  it("is made and changed without a terminal, and a wrong entry says so beside its field", async () => {
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "ADMIN"), {
      expected: /status of 400/,
    });
    const { page } = console;
    await console.go("/tokens");
    await page.getByRole("link", { name: "New token" }).click();
    await page.getByRole("heading", { level: 1, name: "New token" }).waitFor();
    await page.getByLabel("Card number", { exact: true }).fill("4242424242424241");
    await page.getByLabel("Metadata").fill("order=77\ncolour = blue");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByText("Nothing is saved yet: the fields below say what to change.").waitFor();
    const field = page.getByLabel("Card number", { exact: true });
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    expect(await page.getByRole("alert").textContent()).not.toContain("4242424242424241");
    await console.expectAccessible();
    await field.fill("4242 4242 4242 4242");
    await page.getByLabel("Expiry month").fill("12");
    await page.getByLabel("Expiry year").fill("2031");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByRole("heading", { level: 1, name: "Token", exact: true }).waitFor();
    await page.getByText("XXXXXXXXXXXX4242").waitFor();
    expect(await page.content()).not.toContain(NUMBER);
    await page.getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Metadata").fill("order=78");
    await dialog.getByLabel("Containers").fill("not a path");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").waitFor();
    await console.expectAccessible();
    await dialog.getByLabel("Containers").fill("/pci/high/ /test/");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const id = new URL(page.url()).searchParams.get("id");
    const backEnd = await tenant.backEnd();
    const { body } = await backEnd("GET", `/tokens/${id}`);
    expect(body).toMatchObject({
      type: "card",
      data: { number: NUMBER, expiration_month: 12, expiration_year: 2031 },
      metadata: { order: "78" },
      containers: ["/pci/high/", "/test/"],
    });
    expect(body.metadata).toEqual({ order: "78" });
    expect(console.wrongs).toEqual([]);
  });

  it("holds a text as it was typed, and JSON as what it says", async () => {
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "ADMIN"));
    const { page } = console;
    const backEnd = await tenant.backEnd();
    for (const [typed, stored] of [
      ["007", "007"],
      ["{not json", "{not json"],
      ['{"a":[1]}', { a: [1] }],
    ] as const) {
      await console.go("/tokens?new=1");
      await page.getByLabel("Type").selectOption("token");
      await page.getByLabel("Value").fill(typed);
      await page.getByRole("button", { name: "Create token" }).click();
      await page.getByRole("heading", { level: 1, name: "Token", exact: true }).waitFor();
      const { body } = await backEnd("GET", `/tokens/${new URL(page.url()).searchParams.get("id")}`);
      expect(body.data).toEqual(stored);
    }
    expect(console.wrongs).toEqual([]);
  });

  it("is found by the first example of the documentation", async () => {
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "ADMIN"));
    const { page } = console;
    const backEnd = await tenant.backEnd();
    for (const [type, data] of [
      ["card", { number: NUMBER, expiration_month: 12, expiration_year: 2031 }],
      ["token", "x"],
    ]) {
      const { status } = await backEnd("POST", "/tokens", { body: { type, data, metadata: { customer: "1043" } } });
      expect(status).toBe(201);
    }
    await console.go("/tokens");
    await page.getByLabel("Search", { exact: true }).fill("type:card AND metadata.customer:1043");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText("XXXXXXXXXXXX4242 12/2031").waitFor();
    expect(await page.getByRole("row").count()).toBe(2);
    await page.getByLabel("Search", { exact: true }).fill("metadata.customer:1043");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText("no mask").waitFor();
    expect(await page.getByRole("row").count()).toBe(3);
    expect(console.wrongs).toEqual([]);
  });
});
