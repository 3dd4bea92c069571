// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { secretNumber } from "../e2e/elements/support/secret-number.js";
import { sharedBrowser } from "../support/browser.js";
import { type RunningShop, startShop } from "./support/running-shop.js";

let browser: Browser;
let shop: RunningShop;
let shopUrl: string;
beforeAll(async () => {
  shop = await startShop();
  shopUrl = shop.url;
  browser = await sharedBrowser();
});
afterAll(async () => {
  await browser?.close();
  await shop?.[Symbol.asyncDispose]();
});

async function fieldOf(page: Page, type: string) {
  await expect.poll(() => page.frames().some((frame) => frame.url().includes(`type=${type}#`))).toBe(true);
  const frame = page.frames().find((candidate) => candidate.url().includes(`type=${type}#`));
  if (!frame) throw new Error(`the page has no frame of ${type}`);
  return frame;
}

/** Opens the shop, types a card and pays. */
async function pay(number: string, service: string): Promise<{ page: Page; sent: string[] }> {
  const page = await browser.newPage();
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.url().startsWith(shopUrl)) sent.push(`${request.url()} ${request.postData()}`);
  });
  await page.goto(shopUrl);
  await (await fieldOf(page, "cardNumber")).locator("#field").pressSequentially(number);
  await (await fieldOf(page, "cardExpirationDate")).locator("#field").pressSequentially("1231");
  await (await fieldOf(page, "cardVerificationCode")).locator("#field").pressSequentially("123");
  await page.selectOption("#service", service);
  await page.click("#pay");
  return { page, sent };
}

const statusOf = (page: Page) => page.locator("#status").textContent();

describe("the sample shop", () => {
  it.each(["simulator", "acquirer"])(
    "takes a card by the %s, never receives it, and shows it to its customer",
    async (service) => {
      const number = secretNumber();
      const { page, sent } = await pay(number.digits, service);
      await expect.poll(() => statusOf(page)).toBe("Paid. Thank you.");
      const frame = await fieldOf(page, "reveal");
      await expect.poll(() => sent.some((text) => text.includes("/show-card"))).toBe(true);
      await frame.getByRole("button", { name: "Show" }).click();
      await expect.poll(() => frame.locator("output").textContent()).toBe(number.digits);
      expect(sent.filter((text) => number.isIn(text))).toEqual([]);
      const [, order, nonce] = /"order":"([^"]+)","nonce":"([^"]+)"/.exec(sent.join("\n")) ?? [];
      const other = await fetch(`${shopUrl}/show-card`, { method: "POST", body: JSON.stringify({ order, nonce }) });
      expect([other.status, await other.json()]).toEqual([400, { message: "There is no such order." }]);
      await page.close();
    },
  );

  it.each([
    ["Approve", "Paid. Thank you."],
    ["Cancel", "Your card was declined. Try another one."],
  ])("asks the bank of a card with 3-D Secure, and its customer presses %s", async (button, said) => {
    const { page } = await pay("4000000000003220", "simulator");
    const opened = page.waitForEvent("popup");
    await page.getByRole("link", { name: "Approve at your bank" }).click();
    const bank = await opened;
    await bank.getByRole("button", { name: button, exact: true }).click();
    await bank.getByText("You can close this page.").waitFor();
    await expect.poll(() => statusOf(page)).toBe(said);
    expect(await page.getByRole("link", { name: "Approve at your bank" }).count()).toBe(0);
    await page.close();
  });

  it.each(["simulator", "acquirer"])("takes another card after the %s declined one", async (service) => {
    const { page } = await pay("4000000000000002", service);
    await expect.poll(() => statusOf(page)).toBe("Your card was declined. Try another one.");
    await (await fieldOf(page, "cardNumber")).locator("#field").fill(secretNumber().digits);
    await page.click("#pay");
    await expect.poll(() => statusOf(page)).toBe("Paid. Thank you.");
    await page.close();
  });
});
