// Needs: chromium
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { httpResponse, startDestination } from "../../e2e/proxy/support/destination.js";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { openOwner } from "./support/console.js";

let browser: Browser;
let tenant: TestTenant;
beforeAll(async () => {
  [browser, tenant] = await Promise.all([sharedBrowser(), newTenant()]);
});
afterAll(() => browser.close());

/** Keeps a picture where the environment says, to be looked at. */
async function picture(page: Page, name: string): Promise<void> {
  const directory = process.env.SCREENSHOTS;
  if (directory !== undefined) await page.screenshot({ path: `${directory}/${name}.png`, fullPage: true });
}

it("a person who begins at the start page makes a proxy that sends the value of a token, by what the pages say", async () => {
  await using destination = await startDestination(httpResponse("200 OK", ["Content-Type: application/json"], "{}"));
  await using console = await openOwner(browser, tenant, { expected: /status of 40[0-9]|ERR_FAILED/ });
  const { page } = console;
  await picture(page, "1-start");
  const headings = page.locator("main").getByRole("heading", { level: 2 });
  await expect.poll(() => headings.first().textContent()).toBe("First steps");

  await page.getByRole("link", { name: "Make an application" }).last().click();
  await page.getByLabel("Name").fill("Charges");
  await page.getByLabel("Shows").selectOption("reveal");
  for (const permission of ["token:create", "token:read", "token:use"]) {
    await page.getByLabel("Access rules").getByLabel(permission).check();
  }
  await page.getByRole("button", { name: "Create application and key" }).click();
  await page.getByRole("button", { name: "Add a passkey" }).waitFor();
  await picture(page, "2-second-factor");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("Proved for five minutes").waitFor();
  await page.getByRole("button", { name: "Create application and key" }).click();
  const key = (await page.getByText(/^key_\w+_pvt_\w+$/).textContent()) ?? "";
  await picture(page, "3-application");

  await page.getByRole("link", { name: "Home", exact: true }).click();
  const store = (await page.getByLabel("curl").locator("pre").textContent()) ?? "";
  const stored = await shell(store.replace("KEY=...", `KEY=${key}`));
  const tokenId = String(JSON.parse(stored).id);
  await page.getByRole("link", { name: "Tokens", exact: true }).first().click();
  await page.getByText(tokenId.slice(0, 8)).first().waitFor();
  await picture(page, "4-tokens");

  await page.getByRole("link", { name: "Home", exact: true }).click();
  await page.getByText("First steps").first().click();
  await page.getByRole("link", { name: "make a proxy" }).click();
  await page.getByLabel("Name").fill("Partner");
  await page.getByLabel("Destination", { exact: true }).fill(destination.url);
  await picture(page, "5-new-proxy");
  await page.getByRole("button", { name: "Create proxy" }).click();
  await page.getByRole("heading", { level: 1, name: "Partner" }).waitFor();
  await picture(page, "6-proxy");
  const call = (await page.getByLabel("A call of the proxy").locator("pre").textContent()) ?? "";
  await shell(`export KEY=${key}\n${call.replace("token_id", tokenId)}`);
  const sent = () => destination.requests.map(({ body }) => Buffer.from(body).toString());
  expect(sent()[0]).toContain('"number":"4242424242424242"');

  await page.getByRole("button", { name: "Call it" }).click();
  const dialog = page.getByRole("dialog", { name: "Call this proxy" });
  await dialog.getByLabel("Key of an application").fill("no key");
  await dialog.getByLabel("Token for the sample").selectOption(tokenId);
  await dialog.getByRole("button", { name: "Send" }).click();
  await dialog.getByText("The vault says:").waitFor();
  await console.expectAccessible();
  await dialog.getByLabel("Key of an application").fill(key);
  await dialog.getByRole("button", { name: "Send" }).click();
  await dialog.getByText("Its body is not shown").waitFor();
  await picture(page, "7-call");
  expect(JSON.parse(sent()[1] ?? "")).toMatchObject({ number: "4242424242424242", exp_year: "2030" });
  await page.route("**/proxy", (route) => route.abort());
  await dialog.getByRole("button", { name: "Send" }).click();
  await dialog.getByText("The vault does not respond.").waitFor();
  expect(sent()).toHaveLength(2);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await page.content()).not.toContain(key);
  expect(console.wrongs).toEqual([]);
});

/** Runs what a page says, as a person who copies it does. */
async function shell(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)("bash", ["-c", script], { encoding: "utf8" });
  return stdout;
}
