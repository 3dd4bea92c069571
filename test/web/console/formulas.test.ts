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

const CODE = "module.exports = async (req) => ({ raw: { fee: req.args.amount * Number(req.configuration.RATE) } });";

describe("a formula", () => {
  it("is made with what its reactors set and its callers send, and a reactor of it is made, tried and keeps it", async () => {
    const tenant = await newTenant();
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "DEVELOPER"), {
      expected: /status of 40[09]/,
    });
    const { page } = console;
    await console.go("/formulas");
    // The vault's own formulas, which other tests may bring in, are listed too.
    await page.getByRole("link", { name: "New formula" }).first().click();
    await page.getByLabel("Name").fill("Fee");
    await page.getByRole("textbox", { name: "Code" }).fill(CODE);
    await page.getByLabel("Configuration").fill("RATE number Per unit\nRATE");
    await page.getByLabel("Arguments").fill("amount number In minor units\nnote? A remark");
    const submit = page.getByRole("button", { name: "Create formula" });
    await submit.click();
    await page.getByText("must be unique").waitFor();
    await console.expectAccessible();
    await page.getByLabel("Configuration").fill("RATE number Per unit");
    await submit.click();
    await page.getByRole("link", { name: "New reactor of it" }).waitFor();
    const { body } = await tenant.manage("GET", "/reactor-formulas");
    expect(body.data.filter(({ type }: { type: string }) => type === "private")).toMatchObject([
      {
        ...{ name: "Fee", type: "private", code: CODE },
        configuration: [{ name: "RATE", type: "number", description: "Per unit" }],
        request_parameters: [
          { name: "amount", type: "number", description: "In minor units" },
          { name: "note", type: "string", description: "A remark", optional: true },
        ],
      },
    ]);
    await console.settle();
    await console.expectAccessible();
    expect(await page.getByLabel("Arguments").inputValue()).toBe("amount number In minor units\nnote? string A remark");

    await page.getByRole("link", { name: "New reactor of it" }).click();
    await page.getByText("It runs the formula Fee.").waitFor();
    await page.getByLabel("Name").fill("Fee of shops");
    await page.getByLabel("Configuration to set").fill("RATE=2");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText('"fee": 42').waitFor();
    await page.getByRole("button", { name: "Create reactor" }).click();
    await page.getByRole("heading", { level: 1, name: "Fee of shops" }).waitFor();
    await page.getByLabel("Name").fill("Fee of markets");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Fee of markets" }).waitFor();
    await console.settle();
    await console.expectAccessible();
    await page.getByRole("link", { name: "Fee", exact: true }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText("Reactors are made from this formula.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(console.wrongs).toEqual([]);
  });

  it("is shown to a DEVELOPER, and not changed, if it is somebody else's", async () => {
    const tenant = await newTenant();
    const { body } = await tenant.manage("POST", "/reactor-formulas", {
      body: { name: "Theirs", type: "private", code: CODE },
    });
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "DEVELOPER"));
    const { page } = console;
    await console.go(`/formulas?id=${body.id}`);
    await page.getByText("the DEVELOPER who created this formula can change it").waitFor();
    await console.settle();
    await console.expectAccessible();
    expect(await page.getByRole("button", { name: /Save|Delete/ }).count()).toBe(0);
    expect(await page.locator("main").getByRole("textbox").count()).toBe(0);
    expect(console.wrongs).toEqual([]);
  });

  it("is read only if lines cannot hold its descriptions: a save of them would change others", async () => {
    const tenant = await newTenant();
    const { status, body } = await tenant.manage("POST", "/reactor-formulas", {
      body: {
        ...{ name: "Two lines", type: "private", code: CODE },
        configuration: [{ name: "RATE", type: "number", description: "Per unit\nSECRET string" }],
      },
    });
    expect(status, JSON.stringify(body)).toBe(201);
    await using owner = await openOwner(browser, tenant, { expected: /status of 401/ });
    await owner.go(`/formulas?id=${body.id}`);
    await owner.page.getByText("descriptions that lines cannot hold").waitFor();
    expect(await owner.page.locator("main").getByRole("textbox").count()).toBe(0);
    expect(owner.wrongs).toEqual([]);
  });
});
