// Needs: firefox-esr
// Waits: 20 s
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { secretNumber } from "../e2e/elements/support/secret-number.js";
import { type BrowsingContext, type Firefox, launchFirefox } from "../support/firefox.js";
import { type RunningShop, startShop } from "./support/running-shop.js";

let firefox: Firefox;
let shop: RunningShop;
beforeAll(async () => {
  [shop, firefox] = await Promise.all([startShop(), launchFirefox()]);
});
afterAll(async () => {
  await firefox?.[Symbol.asyncDispose]();
  await shop?.[Symbol.asyncDispose]();
});

/** Keeps all that the page receives and sends. */
const RECORD = `(() => {
  window.seen = [];
  addEventListener("message", ({ data }) => window.seen.push(JSON.stringify(data)), true);
  const { fetch } = window;
  window.fetch = (...request) => (window.seen.push(JSON.stringify(request)), fetch(...request));
})()`;

/** The frame of a field, once its input can be used. */
async function fieldOf(type: string): Promise<string> {
  const find = async (): Promise<BrowsingContext | undefined> =>
    (await firefox.page()).children?.find(({ url }) => url.includes(`type=${type}#`));
  await expect.poll(find).toBeDefined();
  const context = (await find())?.context ?? "";
  await expect.poll(() => firefox.evaluate(context, "document.readyState")).toBe("complete");
  return context;
}

const top = async () => (await firefox.page()).context;
const shownIn = async (type: string) => firefox.evaluate(await fieldOf(type), "document.querySelector('#field').value");
const statusOf = async () => firefox.evaluate(await top(), "document.querySelector('#status').textContent");

async function type(field: string, keys: string, shown: string): Promise<void> {
  await firefox.press(await fieldOf(field), "#field", keys);
  await expect.poll(() => shownIn(field)).toBe(shown);
}

/** Opens the shop, types a card and pays. */
async function pay(number: string): Promise<void> {
  await firefox.open(shop.url);
  await firefox.evaluate(await top(), RECORD);
  await type("cardNumber", number, number.replaceAll(/(.{4})(?=.)/g, "$1 "));
  await type("cardExpirationDate", "1231", "12 / 31");
  await type("cardVerificationCode", "123", "123");
  await firefox.click(await top(), "#pay");
}

describe("the sample shop in Firefox", () => {
  it("takes a card, never receives it, and shows it to its customer", async () => {
    const number = secretNumber();
    await pay(number.digits);
    await expect.poll(statusOf).toBe("Paid. Thank you.");
    const seen = `JSON.stringify(window.seen) + document.documentElement.outerHTML`;
    await expect.poll(async () => String(await firefox.evaluate(await top(), seen))).toContain("/show-card");
    const frame = await fieldOf("reveal");
    await expect.poll(() => firefox.evaluate(frame, "document.querySelector('button')?.textContent")).toContain("Show");
    await firefox.click(frame, "button");
    await expect
      .poll(() => firefox.evaluate(frame, "document.querySelector('output')?.textContent"))
      .toBe(number.digits);
    const obtained = String(await firefox.evaluate(await top(), seen));
    expect(number.isIn(obtained)).toBe(false);
    // The record has what the page sends.
    expect(obtained).toContain("/pay");
  });

  it("takes another card after one was declined", async () => {
    await pay("4000000000000002");
    await expect.poll(statusOf).toBe("Your card was declined. Try another one.");
  });
});
