// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AS_OLDEST_BROWSER, sharedBrowser } from "../../support/browser.js";
import { keyNameOf as nameOf } from "../../support/frame-pass.js";
import { withoutIds } from "../../support/without-ids.js";
import { cardPage, fieldFrame, inField, openShop, randomCardNumber, type Shop, vaultUrl } from "./support/shop.js";

let shop: Shop;
let browser: Browser;
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), sharedBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await shop?.[Symbol.asyncDispose]();
});

async function open(address: string): Promise<{ page: Page; console: string[] }> {
  const page = await browser.newPage();
  await page.addInitScript({ content: AS_OLDEST_BROWSER });
  const texts: string[] = [];
  page.on("console", (message) => texts.push(message.text()));
  page.on("pageerror", (error) => texts.push(String(error)));
  await page.goto(address);
  return { page, console: texts };
}

async function typeCard(page: Page, number: string): Promise<void> {
  await (await fieldFrame(page, "cardNumber")).locator("#field").fill(number);
  await (await fieldFrame(page, "cardExpirationDate")).locator("#field").fill("12/31");
  await (await fieldFrame(page, "cardVerificationCode")).locator("#field").fill("987");
}

const mounting = (page: Page) =>
  page.evaluate<string>("window.mounted.then(() => 'mounted', (error) => error.code + ': ' + error.message)");

/** Every part of seven digits that a page may not know. */
function secretParts(number: string): readonly string[] {
  return Array.from({ length: 10 }, (_, at) => number.slice(at, at + 7)).filter(
    (part) => !number.slice(0, 8).includes(part),
  );
}

it("an allowed page has nothing in its console", async () => {
  const { page, console } = await open(shop.page(cardPage(shop.publicKey)));
  expect(await mounting(page)).toBe("mounted");
  await typeCard(page, randomCardNumber());
  expect(console).toEqual([]);
  await page.close();
});

describe("a page of an origin that is not allowed", () => {
  it("gets an error, a text in the console, and a notice in place of each field", async () => {
    const other = await openShop();
    const { page, console } = await open(other.page(cardPage(shop.publicKey)));
    expect(await mounting(page)).toMatch(/^frame_refused: .*Add http:\/\/127\.0\.0\.1:\d+ to allowed_origins/);
    expect(console.join("\n")).toContain("Cloakroom: The controller frame was refused.");
    expect(page.frames().filter((frame) => frame.url().includes("/elements/v1/frame"))).toEqual([]);
    const notices = () =>
      Promise.all(
        ["number", "expiration", "code"].map((id) => page.frameLocator(`#${id} iframe`).locator("p").textContent()),
      );
    await expect.poll(notices).toEqual(Array(3).fill("This field cannot be shown in this page."));
    await page.close();
    await other[Symbol.asyncDispose]();
  });

  it("is refused inside an allowed page's frame, and an allowed page inside it", async () => {
    const other = await openShop();
    const { page } = await open(other.page(`<iframe src="${shop.page(cardPage(shop.publicKey))}"></iframe>`));
    const inner = page.frames()[1];
    const result = await inner?.evaluate("window.mounted.then(() => 'mounted', (error) => error.code)");
    expect(result).toBe("frame_refused");
    await page.close();
    await other[Symbol.asyncDispose]();
  });
});

describe("a page that cannot show frames", () => {
  it.each([
    ["its policy forbids frames", { "Content-Security-Policy": "frame-src 'none'" }, /^frame_refused: .*frame-src/],
    ["it is sandboxed", { "Content-Security-Policy": "sandbox allow-scripts" }, undefined],
  ])("learns why: %s", async (_, headers, expected) => {
    const { page, console } = await open(shop.page(cardPage(shop.publicKey), headers));
    if (expected) expect(await mounting(page)).toMatch(expected);
    else expect(console.join("\n")).toContain("This page is sandboxed");
    await page.close();
  });

  it("learns so when something sandboxes the frames", async () => {
    const sandboxing = `const create = document.createElement.bind(document);
      document.createElement = (name) => { const made = create(name); if (name === "iframe") made.sandbox = "allow-scripts"; return made; };`;
    const { page } = await open(shop.page(cardPage(shop.publicKey, sandboxing)));
    expect(await mounting(page)).toMatch(/^frame_(refused|sandboxed): .*sandbox/);
    await page.close();
  });

  it.each([
    [
      "requires policies of its parts",
      { "Cross-Origin-Embedder-Policy": "require-corp", "Cross-Origin-Opener-Policy": "same-origin" },
    ],
    ["sends no referrer", { "Referrer-Policy": "no-referrer" }],
    ["enforces Trusted Types", { "Content-Security-Policy": "require-trusted-types-for 'script'" }],
  ])("is not one that %s", async (_, headers) => {
    const { page } = await open(shop.page(cardPage(shop.publicKey), headers));
    expect(await mounting(page)).toBe("mounted");
    await page.close();
  });
});

/** Records what passes through everything that a page can replace before the loader runs. */
const POISON = `
  window.leaks = [];
  const keep = (value) => { try { window.leaks.push(typeof value === "string" ? value : JSON.stringify(value)); } catch {} };
  const stringify = JSON.stringify;
  JSON.stringify = (...given) => { const text = stringify(...given); window.leaks.push(String(text)); return text; };
  for (const prototype of [MessagePort.prototype, Window.prototype, window]) {
    const post = prototype.postMessage;
    if (post) prototype.postMessage = function (...given) { keep(given[0]); return post.apply(this, given); };
  }
  const Channel = MessageChannel;
  window.MessageChannel = class extends Channel { constructor() { super(); for (const port of [this.port1, this.port2]) port.addEventListener("message", ({ data }) => keep(data)); } };
  addEventListener("message", ({ data }) => keep(data), true);
  const real = window.fetch;
  window.fetch = (...given) => { keep(given); return real(...given); };
  Map.prototype.set = ((set) => function (key, value) { keep(key); keep(value); return set.call(this, key, value); })(Map.prototype.set);
  for (const name of ["number", "values", "cvc", "data", "body", "expiration_month"])
    Object.defineProperty(Object.prototype, name, { configurable: true, set(value) { keep(value); Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true }); }, get() { return undefined; } });
`;

describe("a hostile page", () => {
  it("gets nothing of a card through prototypes, ports and functions that it replaced", async () => {
    const { page } = await open(shop.page(cardPage(shop.publicKey, POISON)));
    const number = randomCardNumber();
    await typeCard(page, number);
    const { token } = await page.evaluate<{ token: { id: string } }>("window.pay()");
    expect(token.id).toMatch(/^[0-9a-f-]{36}$/);
    const leaks = await page.evaluate<string[]>("window.leaks");
    const seen = withoutIds(leaks.join()).replaceAll(" ", "");
    // The recorder works: it has seen what the loader sends and gets.
    expect([seen.includes('"type":"tokenize"'), seen.includes('"cloakroom":"ready"')]).toEqual([true, true]);
    expect([...secretParts(number), '"987"'].filter((part) => seen.includes(part))).toEqual([]);
    await page.close();
  });

  it("gets no value by messages in the frames' own format", async () => {
    const { page } = await open(shop.page(cardPage(shop.publicKey)));
    const number = randomCardNumber();
    await typeCard(page, number);
    const got = await page.evaluate<string[]>(`(async () => {
      const got = [];
      const heard = ({ data }) => got.push(JSON.stringify(data));
      addEventListener("message", heard);
      const [nonce] = document.querySelector("iframe").src.split("#")[1].split(".");
      const key = ${JSON.stringify(nameOf(shop.publicKey))};
      const pageOrigin = location.origin;
      for (const frame of document.querySelectorAll("iframe")) {
        const id = frame.src.split("#")[1].split(".")[1];
        for (const cloakroom of ["hello", "pair", "init", "ready"]) {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = heard;
          const message = { cloakroom, nonce, key, pageOrigin, id, type: "cardNumber", protocol: 1, locale: "en", options: {} };
          frame.contentWindow.postMessage(message, "*", [port2]);
          port1.postMessage({ type: "value", call: 1 });
        }
        frame.contentWindow.postMessage({ type: "value", call: 1 }, "*");
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
      return got;
    })()`);
    expect(got.filter((text) => !text.includes('"type":"change"'))).toEqual([]);
    for (const part of secretParts(number)) expect(withoutIds(got.join())).not.toContain(part);
    await page.close();
  });

  /** Opens a controller of its own, and has it tokenize the shop's field. Resolves to the controller's response. */
  const ownController = (framed: string, key: string, nonce = "own") => `new Promise((resolve) => {
    const [theirs] = document.querySelector("iframe").src.split("#")[1].split(".");
    const nonce = ${JSON.stringify(nonce)} === "own" ? theirs : ${JSON.stringify(nonce)};
    const frame = document.createElement("iframe");
    frame.src = ${JSON.stringify(vaultUrl)} + "/elements/v1/frame?type=controller&key=${framed}#" + nonce + ".mine." + encodeURIComponent(location.origin);
    addEventListener("message", ({ data, source }) => {
      if (source !== frame.contentWindow || data.cloakroom !== "ready") return;
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => resolve(data);
      const init = { cloakroom: "init", nonce, id: "mine", locale: "en", dir: "ltr", colorScheme: "normal", options: {}, key: ${JSON.stringify(key)} };
      frame.contentWindow.postMessage(init, ${JSON.stringify(vaultUrl)}, [port2]);
      for (const wait of [0, 500]) setTimeout(() => number.update({ placeholder: "x" }), wait);
      setTimeout(() => port1.postMessage({ type: "tokenize", call: 1, body: number, idempotencyKey: crypto.randomUUID() }), 500);
    });
    document.body.append(frame);
  })`;

  it("cannot collect the shop's field with another key, also with the shop's nonce", async () => {
    const definition = { name: "Other", type: "public", permissions: ["token:create"], allowed_origins: [shop.origin] };
    const { body } = await shop.tenant.manage("POST", "/applications", { body: definition });
    const { page } = await open(shop.page(cardPage(shop.publicKey)));
    await typeCard(page, randomCardNumber());
    const response = await page.evaluate(ownController(nameOf(body.key), body.key));
    expect(response).toMatchObject({ type: "error", error: { code: "incomplete" } });
    await page.close();
  });

  it("cannot use another key than the one by which the frame was allowed", async () => {
    const { key } = await shop.tenant.application({ type: "public", permissions: ["token:create"] });
    const { page } = await open(shop.page(cardPage(shop.publicKey)));
    await fieldFrame(page, "cardNumber");
    const response = await page.evaluate(ownController(nameOf(shop.publicKey), key, "0".repeat(32)));
    expect(response).toMatchObject({ type: "error", error: { code: "wrong_key" } });
    await page.close();
  });

  it("gets no styles that load or run", async () => {
    const { page, console } = await open(shop.page(cardPage(shop.publicKey)));
    await page.evaluate(`window.mounted.then(() => number.update({ style: {
      base: { color: "rgb(1, 2, 3)", backgroundImage: "url(https://evil.example/x)", fontFamily: "x;}@import 'https://evil.example'", backgroundColor: "url(https://evil.example)" },
      "input::before": { color: "red" } } }))`);
    await expect.poll(() => inField(page, "cardNumber", "getComputedStyle(input).color")).toBe("rgb(1, 2, 3)");
    expect(await inField(page, "cardNumber", "getComputedStyle(input).backgroundImage")).toBe("none");
    const warnings = console.filter((text) => text.includes("Cloakroom: style.")).join("\n");
    expect(warnings).toContain("style.base.backgroundImage is not among the properties of a field");
    expect(warnings).toContain("style.base.fontFamily has a value that is refused");
    expect(warnings).toContain("style.base.backgroundColor has a value that is refused");
    expect(warnings).toContain("style.input::before is not a state of a field");
    await page.close();
  });
});
