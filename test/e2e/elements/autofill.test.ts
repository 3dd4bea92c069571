// Needs: chromium
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenBrowser, openPlainBrowser } from "./support/browsers.js";
import { DevTools } from "./support/devtools.js";
import { type Recording, record } from "./support/recording.js";
import { cardPage, fieldFrame, inField, openShop, type Shop } from "./support/shop.js";

let shop: Shop;
let browser: OpenBrowser;
let devTools: DevTools;
let recording: Recording;
let page: Page;
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), openPlainBrowser()]);
  devTools = await DevTools.connect(browser.port);
  recording = await record(devTools);
  page = await browser.context.newPage();
});
afterAll(async () => {
  devTools?.[Symbol.dispose]();
  await browser?.[Symbol.asyncDispose]();
  await shop?.[Symbol.asyncDispose]();
});

const CARD = { number: "4242424242424242", name: "Ada Lovelace", expiryMonth: "12", expiryYear: "2031", cvc: "987" };
const TYPES = ["cardNumber", "cardExpirationDate", "cardVerificationCode"];

/** Fills a card in as Chromium does when a person chooses a stored one in the field of this type. */
async function autofill(type: string): Promise<void> {
  const frame = `type=${type}`;
  const session = await recording.sessionOf(frame);
  const send = async (method: string, params = {}) => Object(await devTools.send(method, params, session));
  const { root } = await send("DOM.getDocument");
  const { nodeId } = await send("DOM.querySelector", { nodeId: root.nodeId, selector: "#field" });
  const { node } = await send("DOM.describeNode", { nodeId });
  const { frameTree } = await send("Page.getFrameTree");
  await send("Autofill.enable");
  await send("Autofill.trigger", { fieldId: node.backendNodeId, frameId: frameTree.frame.id, card: CARD });
}

/** The values after filling. Chromium knows of the forms some moments after they appear, and says nothing until then. */
async function filled(type: string): Promise<readonly string[]> {
  await autofill(type);
  return Promise.all(TYPES.map((field) => inField<string>(page, field, "input.value")));
}

async function open(html: string): Promise<void> {
  await page.goto(shop.page(html));
  for (const type of TYPES) await fieldFrame(page, type);
}

describe("a stored card", () => {
  it.each(["cardNumber", "cardExpirationDate"])("fills all fields of a page, chosen in %s", async (type) => {
    await open(cardPage(shop.publicKey));
    await expect.poll(() => filled(type)).toEqual(["4242 4242 4242 4242", "12 / 31", "987"]);
    expect(await page.evaluate("window.pay()")).toMatchObject({ token: { type: "card" } });
  });

  it("fills fields in forms of their own by way of the number's frame", async () => {
    const html = cardPage(shop.publicKey).replace(
      /<div id="(number|expiration|code)"><\/div>/g,
      '<form><div id="$1"></div></form>',
    );
    await open(html);
    await expect.poll(() => filled("cardNumber")).toEqual(["4242 4242 4242 4242", "12 / 2031", "987"]);
    const hidden = `[...document.querySelectorAll(".filled-by-number")].map(({ value }) => value)`;
    expect(await inField(page, "cardNumber", hidden)).toEqual(["", ""]);
  });

  it("leaves what a person has typed into a field of another form", async () => {
    await open(cardPage(shop.publicKey).replace('<div id="code"></div>', '<form><div id="code"></div></form>'));
    await (await fieldFrame(page, "cardVerificationCode")).locator("#field").fill("123");
    await expect.poll(() => filled("cardNumber")).toEqual(["4242 4242 4242 4242", "12 / 31", "123"]);
  });
});
