// Needs: chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant } from "../../support/tenant.js";
import { memberOf, openConsole } from "./support/console.js";

let browser: Browser;
beforeAll(async () => {
  browser = await sharedBrowser();
});
afterAll(() => browser.close());

it("open sessions say who made and authorized them and what they may see, and end from the console", async () => {
  const tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const shop = await tenant.application({ type: "public", permissions: ["token:create"] });
  const { body: waiting } = await shop("POST", "/sessions");
  const { body: open } = await shop("POST", "/sessions");
  const conditions = [{ attribute: "id", operator: "equals", value: "order-77" }];
  const rules = [{ priority: 1, conditions, transform: "reveal", permissions: ["token:read"] }];
  await backEnd("POST", "/sessions/authorize", { body: { nonce: open.nonce, rules } });
  await using console = await openConsole(browser, tenant, await memberOf(tenant, "OWNER"));
  const { page } = console;
  await console.go("/sessions");
  const row = page.getByRole("row", { name: "in the clear" });
  await row.getByText("1 right").click();
  await row.getByText("id equals order-77").waitFor();
  await page.getByRole("row", { name: "nobody yet" }).getByText("nothing").waitFor();
  await console.settle();
  await console.expectAccessible();
  const shown = await page.content();
  for (const secret of [waiting.session_key, waiting.nonce, open.session_key, open.nonce]) {
    expect(shown).not.toContain(secret);
  }

  const read = async () => (await shop("GET", "/tokens/order-77", { key: open.session_key })).status;
  expect(await read()).toBe(404);
  await row.getByRole("button", { name: "End" }).click();
  const question = page.getByRole("dialog", { name: "End this session?" });
  await question.waitFor();
  await console.expectAccessible();
  await question.getByRole("button", { name: "End" }).click();
  await row.waitFor({ state: "detached" });
  expect(await read()).toBe(401);

  await console.go(`/applications?id=${shop.id}`);
  await page.getByRole("link", { name: "Its open sessions" }).click();
  await page.getByText("nobody yet").waitFor();
  expect(console.wrongs).toEqual([]);
});
