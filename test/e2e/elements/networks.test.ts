// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { cardPage, fieldFrame, openShop, type Shop, vaultUrl } from "./support/shop.js";

let shop: Shop;
let browser: Browser;
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), sharedBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await shop?.[Symbol.asyncDispose]();
});

async function typeCard(page: Page): Promise<void> {
  await (await fieldFrame(page, "cardNumber")).locator("#field").fill("4242424242424242");
  await (await fieldFrame(page, "cardExpirationDate")).locator("#field").fill("12/31");
  await (await fieldFrame(page, "cardVerificationCode")).locator("#field").fill("987");
}

const pay = (page: Page) => page.evaluate<{ token?: { id: string }; code?: string }>("window.pay()");
const mounting = (page: Page) => page.evaluate<string>("window.mounted.then(() => 'mounted', ({ code }) => code)");

describe("a slow network", () => {
  it("delays a group whose loader, frames or scripts are late, and breaks nothing", async () => {
    const page = await browser.newPage();
    // Longer than a frame may be silent after it has loaded.
    const late = (url: URL) => /elements\.js$|type=controller|\/field-[^/]*\.js$/.test(url.href);
    await page.route(late, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      await route.continue();
    });
    await page.goto(shop.page(cardPage(shop.publicKey)));
    expect(await mounting(page)).toBe("mounted");
    await typeCard(page);
    expect(await pay(page)).toHaveProperty("token.id");
    await page.close();
  });
});

describe("a network that fails", () => {
  it("leaves what was typed, for another try", async () => {
    const page = await browser.newPage();
    await page.goto(shop.page(cardPage(shop.publicKey)));
    await typeCard(page);
    await page.route(`${vaultUrl}/tokenize`, (route) => route.abort());
    expect(await pay(page)).toMatchObject({ code: "network", message: "The vault could not be reached." });
    await page.unroute(`${vaultUrl}/tokenize`);
    expect(await pay(page)).toHaveProperty("token.id");
    await page.close();
  });

  it("is an error with the vault's code if the vault cannot respond now", async () => {
    const page = await browser.newPage();
    await page.goto(shop.page(cardPage(shop.publicKey)));
    await typeCard(page);
    const body = JSON.stringify({ code: "unavailable", detail: "Try again." });
    await page.route(`${vaultUrl}/tokenize`, (route) => route.fulfill({ status: 503, body }));
    expect(await pay(page)).toMatchObject({ code: "unavailable", message: "Try again." });
    await page.unroute(`${vaultUrl}/tokenize`);
    await page.route(`${vaultUrl}/tokenize`, (route) => route.fulfill({ status: 502, body: "<html>Bad gateway" }));
    expect(await pay(page)).toMatchObject({ code: "failed", message: "The vault returned 502." });
    await page.close();
  });

  it("is an error if the frames do not load", async () => {
    const page = await browser.newPage();
    await page.route("**/elements/v1/frame?*", (route) => route.abort());
    await page.goto(shop.page(cardPage(shop.publicKey)));
    expect(await mounting(page)).toMatch(/^frame_(refused|timeout)$/);
    await page.close();
  });
});

describe("a second click", () => {
  it("while the first one's call runs creates no further token", async () => {
    const page = await browser.newPage();
    await page.goto(shop.page(cardPage(shop.publicKey)));
    await typeCard(page);
    const ids = await page.evaluate<string[]>(
      "Promise.all([window.pay(), window.pay()]).then((all) => all.map(({ token }) => token.id))",
    );
    expect(new Set(ids).size).toBe(1);
    const later = await pay(page);
    expect(ids).not.toContain(later.token?.id);
    await page.close();
  });
});

describe("a browser that blocks storage", () => {
  it("shows fields and tokenizes", async () => {
    const context = await browser.newContext();
    await context.addInitScript(`for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"])
      Object.defineProperty(window, name, { get() { throw new DOMException("Access is denied", "SecurityError"); } });
      Object.defineProperty(document, "cookie", { get() { throw new DOMException("denied", "SecurityError"); } });`);
    const page = await context.newPage();
    await page.goto(shop.page(cardPage(shop.publicKey)));
    await typeCard(page);
    expect(await pay(page)).toHaveProperty("token.id");
    await context.close();
  });
});

describe("a session that does not exist, or no longer", () => {
  it("shows no field, because its frames do not exist", async () => {
    const page = await browser.newPage();
    const gone = shop.publicKey.replace("_pub_", "_ses_");
    await page.goto(
      shop.page(cardPage(shop.publicKey).replace(`publicKey: "${shop.publicKey}"`, `session: "${gone}"`)),
    );
    expect(await mounting(page)).toMatch(/^frame_refused$|^unauthenticated$/);
    await page.close();
  });
});
