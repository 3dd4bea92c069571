// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { withoutIds } from "../../support/without-ids.js";
import { cardPage, fieldFrame, openShop, randomCardNumber, type Shop, vaultUrl } from "./support/shop.js";

let shop: Shop;
let browser: Browser;
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), sharedBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await shop?.[Symbol.asyncDispose]();
});

async function open(address: string): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(address);
  return page;
}

async function typeCard(page: Page, number: string): Promise<void> {
  await (await fieldFrame(page, "cardNumber")).locator("#field").pressSequentially(number);
  await (await fieldFrame(page, "cardExpirationDate")).locator("#field").pressSequentially("1231");
  await (await fieldFrame(page, "cardVerificationCode")).locator("#field").pressSequentially("123");
}

describe("a card in a shop's page", () => {
  it("becomes a token, and the page learns bin and last four only", async () => {
    const page = await open(shop.page(cardPage(shop.publicKey)));
    const seen: string[] = [];
    page.on("console", (message) => seen.push(message.text()));
    page.on("request", (request) => {
      if (!request.url().startsWith(vaultUrl)) seen.push(`${request.url()} ${request.postData()}`);
    });
    await page.evaluate(`addEventListener("message", (event) => window.events.push({ data: event.data }), true)`);
    const number = randomCardNumber();
    await typeCard(page, number);
    const { token } = await page.evaluate<{ token: Record<string, unknown> }>("window.pay()");
    expect(token).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type: "card",
      card: { last4: number.slice(-4) },
    });
    expect(token).not.toHaveProperty("data");
    seen.push(JSON.stringify(token), await page.evaluate<string>("JSON.stringify(window.events)"));
    seen.push(await page.evaluate<string>("document.documentElement.outerHTML"));
    // Every run of seven digits beyond the eight of the bin and the last four.
    const windows = Array.from({ length: 10 }, (_, at) => number.slice(at, at + 7)).filter(
      (part) => !number.slice(0, 8).includes(part),
    );
    for (const part of windows) expect(withoutIds(seen.join("\n")).replaceAll(" ", "")).not.toContain(part);
    const stored = await (await shop.tenant.backEnd())("GET", `/tokens/${token.id}`);
    expect(stored.body.data).toEqual({ number, expiration_month: 12, expiration_year: 2031, cvc: "123" });
    await page.close();
  });
});
