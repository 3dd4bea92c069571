// Needs: curl, chromium
import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../support/browser.js";
import { newTenant, type TestTenant } from "../support/tenant.js";
import { openServed, typeCard } from "./support/served-page.js";
import { WalkThrough } from "./support/walk-through.js";

const guide = readFileSync("docs/elements.md", "utf8");
const snippet = (language: string) => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? "";

describe("the guide to hosted fields, as it is written", () => {
  let tenant: TestTenant;
  let browser: Browser;
  beforeAll(async () => {
    [tenant, browser] = await Promise.all([newTenant(), sharedBrowser()]);
  });
  afterAll(() => browser?.close());

  it("makes an application, tokenizes a card in its page, and shows it again", async () => {
    const variables = { CLOAKROOM_URL: tenant.url, MANAGEMENT_KEY: tenant.managementKey };
    const walk = new WalkThrough("docs/elements.md", variables);
    const { key, id: applicationId } = JSON.parse(await walk.type());
    const further = new WalkThrough("docs/elements.md", { ...variables, APPLICATION_ID: applicationId });
    further.advance();
    expect(JSON.parse(await further.type())).toMatchObject({
      ...{ allowed_origins: ["https://shop.example.com"], templates: [{ name: "order" }] },
    });
    expect(further.isAtEnd).toBe(true);
    const html = snippet("html").replace('"key_prod_pub_..."', JSON.stringify(key));
    const page = await openServed(
      browser,
      "https://shop.example.com",
      `${html.replaceAll("https://vault.example.com", tenant.url)}<div id="number"></div>`,
    );
    await typeCard(page, "4242424242424242");
    const tokenized = page.waitForResponse((response) => response.url() === `${tenant.url}/tokenize`);
    await page.click("#pay");
    const { id } = await (await tokenized).json();
    const backEnd = await tenant.backEnd();
    await page.route("**/authorize", async (route) => {
      const { nonce, tokenId } = route.request().postDataJSON();
      const body = JSON.parse(snippet("json").replace('"..."', JSON.stringify(nonce)).replace("<token id>", tokenId));
      const { status } = await backEnd("POST", "/sessions/authorize", { body });
      await route.fulfill({ status });
    });
    await page.evaluate(`(async () => { const tokenId = ${JSON.stringify(id)}; ${snippet("js")} shown.show(); })()`);
    const output = page.frameLocator("#number iframe").locator("output");
    await expect.poll(() => output.textContent()).toBe("4242424242424242");
  });
});
