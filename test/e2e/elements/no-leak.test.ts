// Computes: 12 s
// Needs: chromium
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenBrowser, openPlainBrowser, openPlaywrightBrowser } from "./support/browsers.js";
import { DevTools } from "./support/devtools.js";
import { heapStrings, type Recording, record } from "./support/recording.js";
import { readMemory, renderers } from "./support/renderer-memory.js";
import { type SecretNumber, secretNumber } from "./support/secret-number.js";
import { cardPage, fieldFrame, openShop, type Shop, vaultUrl } from "./support/shop.js";

/*
 * Blind spots: a number that is held in pieces (joined strings, arrays of digits) is found neither on the heap nor in
 * memory. The page's messages, document and requests would show what a page does with it.
 */

/** Keeps all that the page hears, and has an input of its own, which leaks what is typed there in the way that is set. */
const PAGE_SCRIPT = `
  window.heard = [];
  addEventListener("message", ({ data }) => window.heard.push(JSON.stringify(data)), true);
  addEventListener("error", ({ message }) => window.heard.push(message));
  addEventListener("unhandledrejection", ({ reason }) => window.heard.push(String(reason)));
  window.marker = ["page", crypto.randomUUID()].join("-");
  window.leaks = {
    page: (value) => postMessage({ value }),
    network: (value) => navigator.sendBeacon("/beacon", value),
    console: (value) => console.log("paid with", value),
    heap: (value) => { window.kept = { value }; },
    memory: () => {},
  };
  addEventListener("DOMContentLoaded", () => {
    const own = document.createElement("input");
    own.id = "own";
    own.onchange = () => window.leaks[own.dataset.leak](own.value);
    document.body.append(own);
  });
`;

/** Everything that a script of the page can read. */
const READ_PAGE = `(() => {
  getSelection().selectAllChildren(document.body);
  return JSON.stringify([
    document.documentElement.outerHTML, document.body.outerText, String(getSelection()), window.heard, window.events,
    performance.getEntries(), document.cookie, { ...localStorage }, { ...sessionStorage }, location.href, window.paid,
  ]);
})()`;

const DETECTORS = ["page", "network", "console", "heap", "memory"] as const;

describe.each([
  ["Playwright's switches", openPlaywrightBrowser, DETECTORS],
  // Nothing of the detectors depends on the browser but how they read its memory.
  ["Chromium's defaults, which partition storage", openPlainBrowser, ["memory"] as const],
])("a card in a browser with %s", (_, open, planted) => {
  let shop: Shop;
  let browser: OpenBrowser;
  let devTools: DevTools;
  let recording: Recording;
  let page: Page;
  beforeAll(async () => {
    [shop, browser] = await Promise.all([openShop(), open()]);
    devTools = await DevTools.connect(browser.port);
    recording = await record(devTools);
    page = await browser.context.newPage();
    await page.goto(shop.page(cardPage(shop.publicKey, PAGE_SCRIPT)));
    await fieldFrame(page, "cardNumber");
  });
  afterAll(async () => {
    devTools?.[Symbol.dispose]();
    await browser?.[Symbol.asyncDispose]();
    await shop?.[Symbol.asyncDispose]();
  });

  /** The renderers that hold the page's marker, and those that hold the number. */
  async function processes(number: SecretNumber): Promise<{ ofPage: number[]; withNumber: number[] }> {
    const marker = await page.evaluate<string>("window.marker");
    const found = { ofPage: new Set<number>(), withNumber: new Set<number>() };
    for (const pid of await renderers(devTools)) {
      readMemory(pid, (text) => {
        if (text.includes(marker) || text.includes([...marker].join("\0"))) found.ofPage.add(pid);
        if (number.isIn(text)) found.withNumber.add(pid);
      });
    }
    return { ofPage: [...found.ofPage], withNumber: [...found.withNumber] };
  }

  /** A number of which no part is in memory by chance. */
  async function unseenNumber(): Promise<SecretNumber> {
    for (;;) {
      const number = secretNumber();
      if ((await processes(number)).withNumber.length === 0) return number;
    }
  }

  /** Whether a number is where it must not be, by one way of looking. */
  const detectors: Readonly<Record<(typeof DETECTORS)[number], (number: SecretNumber) => boolean | Promise<boolean>>> =
    {
      page: async (number) => number.isIn(await page.evaluate<string>(READ_PAGE)),
      network: (number) =>
        recording.requests.some((sent) => number.isIn(sent.head) || (!isTokenize(sent) && number.isIn(sent.body))),
      console: (number) => number.isIn(recording.console.join("\n")),
      heap: async (number) =>
        (await heapStrings(devTools, await recording.sessionOf(shop.origin))).some((text) => number.isIn(text)),
      memory: async (number) => {
        const { ofPage, withNumber } = await processes(number);
        return ofPage.some((pid) => withNumber.includes(pid));
      },
    };

  /** The only request that may have the number, from the only frame with a network. */
  const isTokenize = ({ from, url }: { from: string; url: string }) =>
    url === `${vaultUrl}/tokenize` &&
    from.startsWith(`${vaultUrl}/elements/v1/frame?`) &&
    from.includes("type=controller");

  it("is nowhere outside of the vault's frames and their one request", async () => {
    const number = await unseenNumber();
    await (await fieldFrame(page, "cardNumber")).locator("#field").pressSequentially(number.digits);
    await (await fieldFrame(page, "cardExpirationDate")).locator("#field").pressSequentially("1231");
    await (await fieldFrame(page, "cardVerificationCode")).locator("#field").pressSequentially("123");
    await page.evaluate("window.pay().then((paid) => { window.paid = paid; })");
    expect(await page.evaluate("window.paid")).toMatchObject({ token: { type: "card" } });
    for (const detector of DETECTORS) {
      expect([detector, await detectors[detector](number)]).toEqual([detector, false]);
    }
    // The searches work: the controller's request, the memory and the heap of the vault's frames have it.
    expect(recording.requests.filter((sent) => isTokenize(sent) && number.isIn(sent.body))).toHaveLength(1);
    const { ofPage, withNumber } = await processes(number);
    expect([ofPage.length > 0, withNumber.length > 0]).toEqual([true, true]);
    const strings = await heapStrings(devTools, await recording.sessionOf("type=cardNumber"));
    expect(strings.some((text) => number.isIn(text))).toBe(true);
  });

  it.each(planted)("would be found if the page leaked it: %s", async (detector) => {
    const number = await unseenNumber();
    await page.evaluate(`document.querySelector("#own").dataset.leak = ${JSON.stringify(detector)}`);
    await page.locator("#own").fill("");
    await page.locator("#own").focus();
    await page.keyboard.insertText(number.digits);
    await page.locator("#own").blur();
    await expect.poll(() => detectors[detector](number)).toBe(true);
  });
});
