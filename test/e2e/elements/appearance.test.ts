// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { cardPage, fieldFrame, inField, openShop, type Shop, vaultUrl } from "./support/shop.js";

let shop: Shop;
let browser: Browser;
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), sharedBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await shop?.[Symbol.asyncDispose]();
});

const classesOf = (page: Page) =>
  page.evaluate<string[]>(`[...document.getElementById("number").classList].map((name) => name.split("--")[1]).sort()`);

describe("the mounted node of a field", () => {
  it("has classes for the state of the field, which Enter does not change", async () => {
    const page = await browser.newPage();
    await page.goto(shop.page(cardPage(shop.publicKey)));
    const input = (await fieldFrame(page, "cardNumber")).locator("input").first();
    await input.focus();
    await expect.poll(() => classesOf(page)).toContain("focus");
    await input.pressSequentially("4242424242424242");
    await input.press("Enter");
    await expect.poll(() => page.evaluate(`window.events.some(({ type }) => type === "submit")`)).toBe(true);
    await expect.poll(() => classesOf(page)).toEqual(["complete", "focus"]);
    await input.fill("4242424242424241");
    await input.blur();
    await expect.poll(() => classesOf(page)).toEqual(["invalid"]);
    await page.evaluate("number.clear()");
    await expect.poll(() => classesOf(page)).toContain("empty");
    await page.close();
  });
});

describe("a card", () => {
  it.each([
    [340, 2],
    [352, 1],
  ])("has in %i pixels so many lines: %i", async (width, lines) => {
    const page = await browser.newPage();
    await page.goto(
      shop.page(`<!doctype html><html lang="en"><title>Shop</title><div id="card" style="width: ${width}px"></div>
        <script src="${vaultUrl}/elements/v1/elements.js"></script><script>
        const group = cloakroom.elements({ baseUrl: "${vaultUrl}", publicKey: "${shop.publicKey}" });
        window.mounted = group.create("card").mount("#card");</script>`),
    );
    const frame = await fieldFrame(page, "card");
    const tops = await frame.evaluate<number[]>(
      `[...document.querySelectorAll("input")].filter((input) => input.offsetWidth > 1).map((input) => Math.round(input.getBoundingClientRect().top))`,
    );
    expect(new Set(tops).size).toBe(lines);
    const height = await page.evaluate<number>(`document.querySelector("iframe[src*='type=card']").clientHeight`);
    expect(height, "the height of the frame, of 40 pixels for each line").toBe(40 * lines);
    await page.close();
  });
});

describe("a field in a page with a dark mode", () => {
  it.each([
    ["dark", "rgb(255, 255, 255)"],
    ["light", "rgb(0, 0, 0)"],
  ] as const)("has the colours of the mode: %s", async (colorScheme, expected) => {
    const page = await browser.newPage({ colorScheme });
    await page.goto(shop.page(cardPage(shop.publicKey).replace("<html", '<html style="color-scheme: light dark"')));
    expect(await inField(page, "cardNumber", "getComputedStyle(input).color")).toBe(expected);
    await page.close();
  });

  it("stays light where the page has none", async () => {
    const page = await browser.newPage({ colorScheme: "dark" });
    await page.goto(shop.page(cardPage(shop.publicKey)));
    expect(await inField(page, "cardNumber", "getComputedStyle(input).color")).toBe("rgb(0, 0, 0)");
    await page.close();
  });
});
