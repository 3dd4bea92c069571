// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { passesLuhn } from "../../../src/base/luhn.js";
import { sharedBrowser } from "../../support/browser.js";
import { keyNameOf as nameOf } from "../../support/frame-pass.js";
import { cardPage, fieldFrame, inField, openShop, randomCardNumber, type Shop, vaultUrl } from "./support/shop.js";

/*
 * What a script in the shop's page tried in order to read a card, each as a test. The page has no vault code of its own:
 * it calls the loader, the API with the public key, and everything else that a browser lets it do.
 */

let shop: Shop;
let browser: Browser;
let page: Page;
let number: string;
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), sharedBrowser()]);
  page = await browser.newPage();
  await page.goto(shop.page(cardPage(shop.publicKey)));
  number = randomCardNumber();
  await typeCard(page, number);
});
afterAll(async () => {
  await browser?.close();
  await shop?.[Symbol.asyncDispose]();
});

async function typeCard(shown: Page, digits: string): Promise<void> {
  await (await fieldFrame(shown, "cardNumber")).locator("#field").fill(digits);
  await (await fieldFrame(shown, "cardExpirationDate")).locator("#field").fill("12/31");
  await (await fieldFrame(shown, "cardVerificationCode")).locator("#field").fill("987");
}

/** Tokenizes a body, and tells whether the vault's API was called. */
async function pay(body: string): Promise<{ result: Record<string, unknown>; isSent: boolean }> {
  const sent: string[] = [];
  const hear = (request: { url(): string }) => sent.push(request.url());
  page.on("request", hear);
  const result = await page.evaluate<Record<string, unknown>>(`window.pay(${body})`);
  page.off("request", hear);
  return { result, isSent: sent.includes(`${vaultUrl}/tokenize`) };
}

describe("a body that the page composes", () => {
  it.each([
    ["E1, an id", `id: "{{ data.c | append: '-' | append: data.n | append: 'zzzz' | alias_preserve_length: 32, 0 }}"`],
    ["E1b, an id of single digits", `id: "{{ data.n | slice: 8, 1 | alias_preserve_length: 20, 0 }}"`],
    ["E1c, an index that fails for one digit", `search_indexes: ["{{ data.number | slice: 8, 1 | remove: '3' }}"]`],
    ["E1d, deduplication", "deduplicate_token: true"],
    ["E2, a mask", `mask: { n: "{{ data.number }}" }`],
    ["a fingerprint", `fingerprint_expression: "{{ data.number | slice: 8, 1 }}"`],
    ["a field of another spelling", `deduplicateToken: true`],
  ])("has no expressions: %s", async (_, field) => {
    const { result, isSent } = await pay(`{ type: "token", data: number, ${field} }`);
    expect([result.code, isSent]).toEqual(["body_refused", false]);
    expect(result.message).toContain("cannot be set by a page");
  });

  it.each([
    ["E9, the code in a token", `{ type: "token", data: { n: number, c: code } }`],
    ["the code by itself", "{ code }"],
    ["the code as the number", `{ type: "card", data: { ...window.card().data, number: code } }`],
    ["the number as the code", `{ type: "card", data: { ...window.card().data, cvc: number } }`],
    ["the number in a bank account", `{ type: "bank", data: { account_number: number, routing_number: "021000021" } }`],
    ["the number in metadata", `{ type: "card", data: window.card().data, metadata: { note: number } }`],
    ["a date without its parts", `{ type: "token", data: expiration }`],
  ])("has values only where they belong: %s", async (_, body) => {
    const { result, isSent } = await pay(body);
    expect([result.code, isSent]).toEqual(["body_refused", false]);
  });

  it("E1d: has no guesses beside a template that deduplicates", async () => {
    const { result } = await pay(`{ type: "token", data: "4242424242424242", template: "once" }`);
    expect(result).toMatchObject({ code: "body_refused", message: expect.stringContaining("must be an element") });
  });
});

/** A request that the page itself sends, with its public key. */
const ownRequest = (path: string, body: object, headers: object = {}) =>
  page.evaluate<{ status: number; body: unknown }>(`fetch(${JSON.stringify(vaultUrl + path)}, {
    method: "POST", body: ${JSON.stringify(JSON.stringify(body))},
    headers: { "Content-Type": "application/json", "BT-API-KEY": ${JSON.stringify(shop.publicKey)}, ...${JSON.stringify(headers)} },
  }).then(async (response) => ({ status: response.status, body: await response.json() }), (error) => ({ status: 0, body: String(error) }))`);

describe("a request of the page itself, with the public key", () => {
  it("E2: cannot replay a request of the frame", async () => {
    const { result } = await pay(`window.card(), { idempotencyKey: "order-1001" }`);
    expect(result).toHaveProperty("token.id");
    const replay = await ownRequest("/tokenize", {}, { "BT-IDEMPOTENCY-KEY": "order-1001" });
    expect([0, 403]).toContain(replay.status);
    expect(JSON.stringify(replay.body)).not.toContain(number.slice(-4));
  });

  it.each(["/sessions", "/tokens", "/tokenize"])("E3, E1d: cannot POST %s", async (path) => {
    const { status } = await ownRequest(path, { type: "token", data: "guess", deduplicate_token: true });
    expect([0, 403]).toContain(status);
  });

  it("cannot make up a pass", async () => {
    for (const pass of ["", "x", "a.b.c.d"]) {
      const sent = `${pass} ${nameOf(shop.publicKey)} ${shop.origin}`;
      const { status } = await ownRequest("/tokenize", { a: 1 }, { "Cloakroom-Frame": sent });
      expect([0, 403]).toContain(status);
    }
  });

  it("cannot read the pass: not from the frame, its document, or what the browser keeps of it", async () => {
    const found = await page.evaluate<string>(`(async () => {
      const frame = [...document.querySelectorAll("iframe")].find(({ src }) => src.includes("type=controller"));
      const tries = [
        () => frame.contentDocument?.documentElement.outerHTML,
        () => frame.contentWindow.document.documentElement.outerHTML,
        async () => (await fetch(frame.src)).text(),
        async () => (await fetch(frame.src, { mode: "no-cors" })).text(),
        async () => JSON.stringify(await caches.keys()),
        () => JSON.stringify(performance.getEntries()),
        async () => { const script = document.createElement("script"); script.src = frame.src; document.body.append(script); await new Promise((done) => { script.onload = done; script.onerror = done; }); return ""; },
      ];
      const got = [];
      for (const attempt of tries) got.push(await Promise.resolve().then(attempt).catch(String));
      return got.join("\\n");
    })()`);
    const controller = page.frames().find((frame) => frame.url().includes("type=controller"));
    const meta = await controller?.evaluate<string>(`document.querySelector('meta[name="cloakroom"]').content`);
    const pass = String(Object(JSON.parse(meta ?? "{}")).pass);
    expect(pass.split(".")).toHaveLength(4);
    expect(found).not.toContain(pass.split(".")[3]);
  });

  it("cannot use a pass of this page in a page of another origin", async () => {
    const controller = page.frames().find((frame) => frame.url().includes("type=controller"));
    const meta = await controller?.evaluate<string>(`document.querySelector('meta[name="cloakroom"]').content`);
    const pass = String(Object(JSON.parse(meta ?? "{}")).pass);
    const send = async (origin: string) => {
      const headers = { "BT-API-KEY": shop.publicKey, "Content-Type": "application/json" };
      const frame = { "Cloakroom-Frame": `${pass} ${nameOf(shop.publicKey)} ${origin}` };
      return (
        await fetch(`${vaultUrl}/tokenize`, { method: "POST", headers: { ...headers, ...frame }, body: `{"a":"x"}` })
      ).status;
    };
    expect([await send(shop.origin), await send("https://evil.example")]).toEqual([200, 403]);
  });
});

describe("the controller's pass", () => {
  it("is renewed in a page that stays open, and the page does not notice", async () => {
    const opened = await browser.newPage();
    await opened.addInitScript("const now = Date.now; Date.now = () => now() + (window.ahead ?? 0);");
    await opened.goto(shop.page(cardPage(shop.publicKey)));
    await typeCard(opened, randomCardNumber());
    const passes: (string | undefined)[] = [];
    opened.on("request", async (request) => {
      const [pass] = (request.headers()["cloakroom-frame"] ?? "").split(" ");
      if (pass) passes.push(`${new URL(request.url()).pathname} ${pass}`);
    });
    const controller = opened.frames().find((frame) => frame.url().includes("type=controller"));
    await controller?.evaluate("window.ahead = 11 * 60_000");
    expect(await opened.evaluate("window.pay()")).toHaveProperty("token.id");
    const [renewal = "", tokenize = ""] = passes;
    expect([renewal.split(" ")[0], tokenize.split(" ")[0]]).toEqual(["/elements/v1/pass", "/tokenize"]);
    expect(tokenize.split(" ")[1]).not.toBe(renewal.split(" ")[1]);
    await opened.close();
  });

  it("is refused when it is changed, with a code that the page can read", async () => {
    const opened = await browser.newPage();
    await opened.goto(shop.page(cardPage(shop.publicKey)));
    await typeCard(opened, randomCardNumber());
    await opened.route(`${vaultUrl}/tokenize`, (route) => {
      const headers = route.request().headers();
      const [start, until, ...rest] = (headers["cloakroom-frame"] ?? "").split(".");
      return route.continue({ headers: { ...headers, "cloakroom-frame": [start, `${until}0`, ...rest].join(".") } });
    });
    expect(await opened.evaluate("window.pay()")).toMatchObject({ code: "permission_denied" });
    await opened.close();
  });
});

/** Two numbers of 16 digits with the same first eight and last four, whose check digits fit. */
function pairOf(bin: string): readonly [string, string] {
  const fitting: string[] = [];
  for (let at = Math.floor(Math.random() * 5_000); fitting.length < 2; at += 7) {
    const digits = `${bin}${String(at % 10_000).padStart(4, "0")}4321`;
    if (passesLuhn(digits)) fitting.push(digits);
  }
  const [one = "", other = ""] = fitting;
  return [one, other];
}

/**
 * After each key: takes the focus away and gives it back, tokenizes, changes what a text may be and how the field looks,
 * and clears a field of its own.
 */
const POLL = `(async () => {
  const decoy = document.querySelector("#pay");
  number.update({ placeholder: "?", mask: "#".repeat(window.events.length % 20), check: "luhn", pattern: ".*[02468]", disabled: false });
  decoy.focus();
  number.focus();
  const calls = [number, { type: "token", data: number }].map((body) => group.tokenize(body).then((token) => token, ({ code, message, errors }) => ({ code, message, errors })));
  decoy.focus();
  number.focus();
  window.events.push({ polled: await Promise.all(calls) });
})()`;

/** All that the page has got, without what is random. */
async function transcriptOf(digits: string): Promise<unknown> {
  const opened = await browser.newPage();
  await opened.goto(shop.page(cardPage(shop.publicKey)));
  const input = (await fieldFrame(opened, "cardNumber")).locator("#field");
  // The fields are ready in any order.
  await opened.evaluate("window.events.length = 0");
  await input.focus();
  for (const [at, digit] of [...digits].entries()) {
    await opened.keyboard.type(digit);
    await opened.evaluate(POLL);
    // The last digit may move the focus on.
    if (at === digits.length - 1) break;
    await expect
      .poll(() => inField(opened, "cardNumber", "document.hasFocus() && document.activeElement === input"))
      .toBe(true);
  }
  // The person has finished. Until then the number might go on, also after 16 digits.
  await input.press("Tab");
  await opened.evaluate(POLL);
  // Events of different frames may arrive in any order. The focus is left out: the page moves it itself, and races with a
  // full number, which moves it on. The empty code's field reports its first state at any moment.
  const text = await opened.evaluate<string>(`JSON.stringify(
    Object.groupBy(window.events.filter(({ field, type }) => field !== "cardVerificationCode" && type !== "focus" && type !== "blur"), ({ field = "polled" }) => field)
  )`);
  const element = await opened.evaluate<string>("number.$element");
  await opened.close();
  const random = /[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{32}/g;
  return JSON.parse(text.replaceAll(element, "element").replace(random, "random"));
}

describe("E7, E8: what the page learns while a person types", () => {
  it.each([
    ["visa", "42424242"],
    ["mastercard", "55555555"],
    ["maestro", "50000012"],
    ["unionpay", "62000012"],
    ["jcb", "35280012"],
    ["diners-club", "36000012"],
    ["discover", "65120012"],
  ])("is the same for two cards of %s that differ in hidden digits", async (brand, bin) => {
    const [one, other] = pairOf(bin);
    const [seenOfOne, seenOfOther] = await Promise.all([transcriptOf(one), transcriptOf(other)]);
    expect(seenOfOne).toEqual(seenOfOther);
    // The page was there: it has seen the card become complete.
    expect(JSON.stringify(seenOfOne)).toContain(`"brand":"${brand}"`);
    expect(JSON.stringify(seenOfOne)).toContain('"last4":"4321"');
  });

  it("is not chosen by a pattern, mask or check that the page writes for a text", async () => {
    const opened = await browser.newPage();
    await opened.goto(shop.page(cardPage(shop.publicKey, "", "")));
    await fieldFrame(opened, "cardNumber");
    const codes = await opened.evaluate(`[{ mask: "4###############" }, { mask: "#", check: "luhn" }, { check: "luhn" }]
      .map((options) => { try { group.create("text", options); return "made"; } catch ({ code }) { return code; } })`);
    expect(codes).toEqual(["options", "options", "options"]);
    await opened.evaluate(`(async () => {
      const text = group.create("text", { pattern: "(..)*" });
      text.on("change", (event) => window.events.push({ field: "text", ...event }));
      const place = document.createElement("div");
      document.body.append(place);
      await text.mount(place);
    })()`);
    const input = (await fieldFrame(opened, "text")).locator("#field");
    for (const digit of "12345678") {
      await input.press(digit);
      await opened.evaluate(`document.querySelector("#pay").focus()`);
    }
    const states = await opened.evaluate<{ complete: boolean }[]>(
      `window.events.filter(({ field, type }) => field === "text" && type === "change")`,
    );
    expect(states.map(({ complete }) => complete)).toEqual([true]);
    await opened.close();
  });
});
