// Needs: chromium
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { httpResponse, startDestination } from "../../e2e/proxy/support/destination.js";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant } from "../../support/tenant.js";
import { openOwner } from "./support/console.js";

/** Runs in the page: counts what a person presses, and the fields that a person fills in. */
const COUNT = `window.efforts = { presses: 0, fields: 0 };
addEventListener("click", ({ isTrusted, detail }) => isTrusted && detail > 0 && (window.efforts.presses += 1), true);
addEventListener("change", ({ target }) => target.matches("select, input[type=checkbox]") || (window.efforts.fields += 1), true);`;

/** Presses and filled fields since the last time. */
async function effortsOf(page: Page): Promise<{ presses: number; fields: number }> {
  return await page.evaluate("const seen = window.efforts; window.efforts = { presses: 0, fields: 0 }; seen");
}

it("an empty vault has its first token, proxied call and answer to who read a card in the browser alone, in few steps", async () => {
  await using destination = await startDestination(httpResponse("200 OK", ["Content-Type: application/json"], "{}"));
  await using browser = await sharedBrowser();
  await using console = await openOwner(browser, await newTenant(), { expected: /status of 40[0-9]/ });
  const { page } = console;
  const fill = async (label: string, text: string) => {
    await page.getByLabel(label, { exact: true }).fill(text);
    await page.keyboard.press("Tab");
  };
  const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
  await page.evaluate(COUNT);
  await page.getByRole("link", { name: "Make one here" }).click();
  await fill("Card number", "4242424242424242");
  await fill("Expiry month", "12");
  await fill("Expiry year", "2030");
  await press("Create token");
  await page.getByText("Card created").waitFor();
  const id = new URL(page.url()).searchParams.get("id") ?? "";
  expect(await effortsOf(page)).toEqual({ presses: 2, fields: 3 });

  await page.getByRole("link", { name: "Home", exact: true }).click();
  await page.getByRole("link", { name: "Make an application" }).last().click();
  await fill("Name", "Charges");
  await page.getByLabel("Shows").selectOption("reveal");
  await page.getByLabel("Access rules").getByLabel("token:use").check();
  await press("Create application and key");
  await press("Add a passkey");
  await page.getByText("Proved for five minutes").waitFor();
  await press("Create application and key");
  const key = (await page.getByText(/^key_\w+_pvt_\w+$/).textContent()) ?? "";
  await page.getByRole("link", { name: "Proxies", exact: true }).click();
  await page.getByRole("link", { name: "New proxy" }).first().click();
  await fill("Name", "Partner");
  await fill("Destination", destination.url);
  await press("Create proxy");
  await press("Call it");
  const dialog = page.getByRole("dialog", { name: "Call this proxy" });
  await dialog.getByLabel("Key of an application").fill(key);
  await dialog.getByLabel("Token for the sample").selectOption(id);
  await dialog.getByRole("button", { name: "Send" }).click();
  await dialog.getByText("Its body is not shown").waitFor();
  expect(Buffer.from(destination.requests[0]?.body ?? "").toString()).toContain("4242424242424242");
  const { presses, fields } = await effortsOf(page);
  expect([presses <= 12, fields <= 4], `${presses} presses, ${fields} fields`).toEqual([true, true]);

  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "Tokens", exact: true }).click();
  await page.getByRole("link", { name: id.slice(0, 8) }).click();
  await page.getByText("Card used").waitFor();
  await page.getByRole("link", { name: "Charges" }).first().waitFor();
  expect((await effortsOf(page)).presses).toBe(3);
  expect(console.wrongs).toEqual([]);
});
