// Needs: chromium
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
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

async function openCard(options = ""): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(shop.page(cardPage(shop.publicKey, "", options)));
  // A call such as focus() has no effect on a field that is not mounted yet.
  await page.evaluate("window.mounted.then(() => undefined)");
  return page;
}

const inputOf = async (page: Page, type: string) => (await fieldFrame(page, type)).locator("input").first();
const REQUIRED = "This field is required.";
const lastChange = (page: Page, field: string) =>
  page.evaluate<Record<string, unknown>>(
    `window.events.filter((event) => event.type === "change" && event.field === ${JSON.stringify(field)}).at(-1) ?? {}`,
  );

describe("typing a card number", () => {
  it("keeps the caret behind the digit that was typed or deleted", async () => {
    const page = await openCard();
    const input = await inputOf(page, "cardNumber");
    await input.pressSequentially("42424242");
    expect(await input.inputValue()).toBe("4242 4242");
    await inField(page, "cardNumber", "input.setSelectionRange(2, 2)");
    await input.press("9");
    expect(await input.inputValue()).toBe("4294 2424 2");
    expect(await inField(page, "cardNumber", "input.selectionStart")).toBe(3);
    await inField(page, "cardNumber", "input.setSelectionRange(5, 5)");
    await input.press("Backspace");
    expect(await input.inputValue()).toBe("4292 4242");
    expect(await inField(page, "cardNumber", "input.selectionStart")).toBe(3);
    await page.close();
  });

  it.each(["4242-4242-4242-4242", "  4242.4242.4242.4242 ", "٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤٢", "４２４２424242424242"])(
    "takes %s as it is pasted",
    async (text) => {
      const page = await openCard();
      const input = await inputOf(page, "cardNumber");
      await input.focus();
      await page.keyboard.insertText(text);
      expect(await input.inputValue()).toBe("4242 4242 4242 4242");
      await expect.poll(() => lastChange(page, "cardNumber")).toMatchObject({ complete: true, brand: "visa" });
      expect(await lastChange(page, "cardNumber")).not.toHaveProperty("last4");
      await input.blur();
      await expect
        .poll(() => lastChange(page, "cardNumber"))
        .toMatchObject({ complete: true, brand: "visa", bin: "42424242", last4: "4242" });
      await page.close();
    },
  );

  it("can be undone and redone with the browser's keys", async () => {
    const page = await openCard();
    const input = await inputOf(page, "cardNumber");
    await input.pressSequentially("42424242");
    await input.press("Control+z");
    expect(await input.inputValue()).toBe("");
    await input.press("Control+Shift+z");
    expect(await input.inputValue()).toBe("4242 4242");
    await page.close();
  });

  it("tells the code's field the brand, and moves the focus on", async () => {
    const page = await openCard();
    await (await inputOf(page, "cardNumber")).pressSequentially("378282246310005");
    const expiration = await inputOf(page, "cardExpirationDate");
    await expect.poll(() => inField(page, "cardExpirationDate", "document.activeElement === input")).toBe(true);
    await expiration.pressSequentially("1231");
    const code = await inputOf(page, "cardVerificationCode");
    await expect.poll(() => inField(page, "cardVerificationCode", "document.activeElement === input")).toBe(true);
    await code.pressSequentially("123");
    await expect.poll(() => lastChange(page, "cardVerificationCode")).toMatchObject({ complete: false, empty: false });
    await code.pressSequentially("45");
    expect(await code.inputValue()).toBe("1234");
    await expect.poll(() => lastChange(page, "cardVerificationCode")).toMatchObject({ complete: true });
    await page.close();
  });

  it("reports a change of state, not each key", async () => {
    const page = await openCard();
    const input = await inputOf(page, "cardNumber");
    await input.pressSequentially("424242424242");
    await input.blur();
    await expect.poll(() => lastChange(page, "cardNumber")).toMatchObject({ error: { code: "incomplete" } });
    const changes = await page.evaluate<number>(
      `window.events.filter(({ type, field }) => type === "change" && field === "cardNumber").length`,
    );
    // Not empty; the brand is certain; left incomplete.
    expect(changes).toBeLessThanOrEqual(3);
    await page.close();
  });
});

describe("errors", () => {
  it("appear on leaving, in the language of the group, and go when the entry is right", async () => {
    const page = await openCard(', locale: "de"');
    const frame = await fieldFrame(page, "cardNumber");
    const input = frame.locator("#field");
    await input.pressSequentially("4242424242424241");
    expect(await input.getAttribute("aria-invalid")).toBeNull();
    await input.press("Tab");
    expect(await input.getAttribute("aria-invalid")).toBe("true");
    const described = await input.getAttribute("aria-describedby");
    expect(await frame.locator(`#${described}`).textContent()).toBe("Die Kartennummer ist ungültig.");
    await input.press("End");
    await input.press("Backspace");
    await input.press("2");
    expect(await input.getAttribute("aria-invalid")).toBeNull();
    await page.close();
  });

  it("name all fields that keep a card from being sent, and nothing is sent", async () => {
    const page = await openCard();
    await fieldFrame(page, "cardNumber");
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    const { code, errors } = await page.evaluate<{ code: string; errors: object }>("window.pay()");
    expect(code).toBe("incomplete");
    expect(Object.keys(errors)).toHaveLength(3);
    await expect.poll(() => lastChange(page, "cardNumber")).toMatchObject({ error: { code: "required" } });
    expect(requests.filter((url) => url.endsWith("/tokenize"))).toEqual([]);
    await page.close();
  });

  it("reach the page with the API's code and trace", async () => {
    const page = await openCard();
    await (await inputOf(page, "cardNumber")).fill("4242424242424242");
    const error = await page.evaluate(
      `group.tokenize({ type: "token", data: number, containers: ["no path"] }).catch(({ code, status, traceId, errors }) => ({ code, status, traceId, errors }))`,
    );
    expect(error).toMatchObject({ code: "validation_failed", status: 400, traceId: expect.any(String) });
    expect(JSON.stringify(error)).not.toContain("4242424242424242");
    await page.close();
  });

  it("say so if a call is cancelled", async () => {
    const page = await openCard();
    await fieldFrame(page, "cardNumber");
    const code = await page.evaluate(
      `(() => { const stop = new AbortController(); const paid = window.pay(undefined, { signal: stop.signal }); stop.abort(); return paid.then(({ code }) => code); })()`,
    );
    expect(code).toBe("cancelled");
    await page.close();
  });
});

describe("a field", () => {
  it("runs from right to left with its page, and its digits from left to right", async () => {
    const page = await openCard(', locale: "ar"');
    await page.evaluate(`document.body.dir = "rtl"; window.mounted.then(() => number.mount("#number"))`);
    await expect
      .poll(async () => (await fieldFrame(page, "cardNumber")).evaluate("document.documentElement.dir"))
      .toBe("rtl");
    expect(await inField(page, "cardNumber", "getComputedStyle(input).direction")).toBe("ltr");
    await page.close();
  });

  it("is filled by browsers and password managers: names, purposes and keyboards", async () => {
    const page = await openCard();
    const expected = [
      ["cardNumber", "cc-number", "cardnumber"],
      ["cardExpirationDate", "cc-exp", "exp-date"],
      ["cardVerificationCode", "cc-csc", "cvc"],
    ];
    for (const [type = "", autocomplete, name] of expected) {
      const input = await inputOf(page, type);
      const attributes = await Promise.all(
        ["autocomplete", "name", "inputmode", "type", "maxlength"].map((each) => input.getAttribute(each)),
      );
      expect(attributes).toEqual([autocomplete, name, "numeric", "text", null]);
    }
    await page.close();
  });

  it("gets the focus by its label in the page, by call and by Tab, and can be cleared", async () => {
    const page = await openCard();
    const input = await inputOf(page, "cardNumber");
    await page.click("label[for=number]");
    await expect.poll(() => inField(page, "cardNumber", "document.activeElement === input")).toBe(true);
    await page.keyboard.type("4242");
    await page.keyboard.press("Tab");
    await expect.poll(() => inField(page, "cardExpirationDate", "document.activeElement === input")).toBe(true);
    await page.evaluate("number.clear()");
    await expect.poll(() => input.inputValue()).toBe("");
    await page.evaluate("code.focus()");
    await expect.poll(() => inField(page, "cardVerificationCode", "document.activeElement === input")).toBe(true);
    await page.close();
  });

  it("has its name in the title of its frame and document, in the language of the group", async () => {
    const page = await openCard(', locale: "fr"');
    const frame = await fieldFrame(page, "cardVerificationCode");
    const titles = await page.evaluate<string[]>(`[...document.querySelectorAll("iframe")].map(({ title }) => title)`);
    expect(titles).toEqual(expect.arrayContaining(["Numéro de carte", "Code de sécurité", "Connexion sécurisée"]));
    // The page labels the node in English.
    expect(await frame.title()).toBe("Verification code");
    await page.close();
  });

  it("can be unmounted while it loads, mounted again, and destroyed twice", async () => {
    const page = await openCard();
    await fieldFrame(page, "cardNumber");
    const result = await page.evaluate(`(async () => {
      const first = number.mount("#number");
      number.unmount();
      const code = await first.catch((error) => error.code);
      await number.mount("#number");
      const frames = document.querySelectorAll("#number iframe").length;
      number.destroy(); number.destroy();
      const after = await number.mount("#number").catch((error) => error.code);
      return { code, frames, after, left: document.querySelectorAll("#number iframe").length };
    })()`);
    expect(result).toEqual({ code: "unmounted", frames: 1, after: "destroyed", left: 0 });
    await page.close();
  });

  it("can hold a whole card, or a text with a mask", async () => {
    const page = await browser.newPage();
    await page.goto(
      shop.page(`<!doctype html><html lang="en"><title>Shop</title><div id="card"></div><div id="text"></div>
        <script src="${vaultUrl}/elements/v1/elements.js"></script><script>
        const group = cloakroom.elements({ baseUrl: "${vaultUrl}", publicKey: "${shop.publicKey}" });
        const card = group.create("card");
        const text = group.create("text", { label: "Routing number", mask: "#########", check: "aba" });
        window.mounted = Promise.all([card.mount("#card"), text.mount("#text")]);
        </script>`),
    );
    await (await inputOf(page, "card")).pressSequentially("5555555555554444123112399");
    await (await inputOf(page, "text")).pressSequentially("02-1000021");
    const made = await page.evaluate<{ card: { id: string }; text: string }>(
      `group.tokenize({ card: { type: "card", data: card }, text })`,
    );
    const backEnd = await shop.tenant.backEnd();
    const { body } = await backEnd("GET", `/tokens/${made.card.id}`);
    expect(body.data).toEqual({ number: "5555555555554444", expiration_month: 12, expiration_year: 2031, cvc: "123" });
    expect((await backEnd("GET", `/tokens/${made.text}`)).body.data).toBe("021000021");
    await page.close();
  });

  it("creates tokens once for calls with the same idempotency key", async () => {
    const page = await openCard();
    await (await inputOf(page, "cardNumber")).fill("4242424242424242");
    const ids = await page.evaluate<string[]>(
      `Promise.all([1, 2].map(() => group.tokenize(number, { idempotencyKey: "order-7-${crypto.randomUUID()}" })))`,
    );
    expect(new Set(ids).size).toBe(1);
    await page.close();
  });
});

describe("the brand beside the number", () => {
  const drawn = (page: Page) =>
    inField<string[]>(
      page,
      "cardNumber",
      `[...document.querySelectorAll(".brand > .is-shown")].map((part) => part.textContent || part.tagName)`,
    );

  it("is drawn as soon as only one fits, and a card without a name before", async () => {
    const page = await openCard();
    const input = await inputOf(page, "cardNumber");
    expect(await drawn(page)).toEqual(["rect"]);
    await input.fill("4242");
    expect(await drawn(page)).toEqual(["VISA"]);
    await input.fill("5555");
    expect(await drawn(page)).toEqual(["g"]);
    await page.close();
  });

  it.each(["ltr", "rtl"])("is beside the digits and not over them, %s", async (direction) => {
    const page = await openCard();
    await page.evaluate(`document.getElementById("number").style.direction = ${JSON.stringify(direction)}`);
    await page.evaluate(`(number.unmount(), window.mounted = number.mount("#number").then(() => undefined))`);
    const input = await inputOf(page, "cardNumber");
    await input.fill("4242424242424242");
    const spot = await inField<{ start: number; end: number; left: number; right: number }>(
      page,
      "cardNumber",
      `(() => {
        const [box, brand, style] = [input.getBoundingClientRect(), document.querySelector(".brand").getBoundingClientRect(), getComputedStyle(input)];
        return { start: box.left + parseFloat(style.paddingLeft), end: box.right - parseFloat(style.paddingRight), left: brand.left, right: brand.right };
      })()`,
    );
    expect(spot.right <= spot.start || spot.left >= spot.end).toBe(true);
    expect(spot.left < (spot.start + spot.end) / 2).toBe(direction === "rtl");
    await page.close();
  });
});

describe("the appearance", () => {
  it("is a theme with the page's colours, and refuses what could load something", async () => {
    const warnings: string[] = [];
    const page = await browser.newPage();
    page.on("console", (message) => warnings.push(message.text()));
    const options = {
      theme: "outlined",
      colors: { text: "rgb(1, 2, 3)", border: "#040506", accent: "url(https://evil.example/x)", glow: "red" },
    };
    await page.goto(shop.page(cardPage(shop.publicKey, "", `, appearance: ${JSON.stringify(options)}`)));
    const style = (property: string) => inField(page, "cardNumber", `getComputedStyle(input).${property}`);
    expect(await style("color")).toBe("rgb(1, 2, 3)");
    expect([await style("borderTopWidth"), await style("borderTopColor")]).toEqual(["1px", "rgb(4, 5, 6)"]);
    await page.evaluate(
      `number.update({ appearance: { theme: "filled" }, style: { base: { iconColor: "#070809" } }, brandIcon: true })`,
    );
    await expect.poll(() => style("borderTopWidth")).toBe("0px");
    expect(await inField(page, "cardNumber", `getComputedStyle(document.querySelector(".brand")).color`)).toBe(
      "rgb(7, 8, 9)",
    );
    await page.evaluate(`number.update({ appearance: { theme: "neon" }, style: { base: { iconColor: "url(#a)" } } })`);
    await expect.poll(() => warnings.filter((text) => text.startsWith("Cloakroom: ")).length).toBeGreaterThanOrEqual(8);
    expect(new Set(warnings)).toEqual(
      new Set([
        "Cloakroom: appearance.colors.accent has a value that is refused",
        "Cloakroom: appearance.colors.glow is not among the colours of a field",
        "Cloakroom: appearance.theme is not one of plain, outlined, filled",
        "Cloakroom: style.base.iconColor has a value that is refused",
      ]),
    );
    await page.close();
  });
});

describe("listeners", () => {
  it("hear one event by once, none after off, and each event once however often they are added", async () => {
    const page = await openCard();
    const input = await inputOf(page, "cardNumber");
    await page.evaluate(`(() => {
      window.heard = { once: 0, on: 0, off: 0 };
      const [on, off] = [() => { heard.on += 1; }, () => { heard.off += 1; }];
      number.once("focus", () => { heard.once += 1; });
      number.on("focus", on); number.on("focus", on);
      number.on("focus", off); number.off("focus", off);
    })()`);
    for (let time = 0; time < 2; time += 1) {
      await input.focus();
      await input.blur();
    }
    await expect.poll(() => page.evaluate("window.heard")).toEqual({ once: 1, on: 2, off: 0 });
    await page.close();
  });
});

describe("a narrow, dark page", () => {
  it("shows a whole card number with its errors below, and all with enough contrast", async () => {
    const page = await browser.newPage({ colorScheme: "dark", viewport: { width: 320, height: 640 } });
    await page.goto(
      shop.page(`<!doctype html><html lang="en"><title>Shop</title><meta name="viewport" content="width=device-width">
        <style>:root { color-scheme: light dark }</style><div id="card"></div>
        <script src="${vaultUrl}/elements/v1/elements.js"></script><script>
        const group = cloakroom.elements({ baseUrl: "${vaultUrl}", publicKey: "${shop.publicKey}" });
        const card = group.create("card", { showError: true });
        window.mounted = card.mount("#card");
        </script>`),
    );
    const frame = await fieldFrame(page, "card");
    await frame.locator("input").first().fill("4242424242424242");
    await page.evaluate("group.tokenize({ type: 'card', data: card }).catch(() => {})");
    await expect.poll(() => frame.locator(".error").allTextContents()).toEqual(["", REQUIRED, REQUIRED]);
    const places = await frame.evaluate(`(() => {
      const boxes = [...document.querySelectorAll(".entry")].map((entry) => [entry.querySelector("input"), entry.querySelector(".error")]);
      return {
        below: boxes.every(([input, error]) => error.getBoundingClientRect().top >= input.getBoundingClientRect().bottom),
        whole: boxes[0][0].scrollWidth <= boxes[0][0].clientWidth,
        fits: document.documentElement.scrollHeight <= innerHeight,
      };
    })()`);
    expect(places).toEqual({ below: true, whole: true, fits: true });
    await frame.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
    // The frame is transparent, for which axe would take white. The page's canvas is this dark in Chromium.
    await frame.evaluate(`document.documentElement.style.background = "#121212"`);
    const found = `axe.run(document, { runOnly: ["color-contrast"] }).then(({ violations }) => violations.flatMap(({ nodes }) => nodes.map(({ html, any }) => html + any[0].message)))`;
    expect(await frame.evaluate(found)).toEqual([]);
    const colour = await frame.evaluate(`getComputedStyle(document.querySelectorAll(".error")[1]).color`);
    expect(colour).toBe("rgb(255, 180, 171)");
    await page.close();
  });
});

describe("accessibility", () => {
  it("axe finds nothing to object to, in the page and its frames, also with errors", async () => {
    const page = await openCard(', locale: "en"');
    await fieldFrame(page, "cardNumber");
    await page.evaluate("window.pay()");
    const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
    for (const frame of page.frames()) {
      if (frame.url().includes("type=controller")) continue;
      // Frames enforce Trusted Types and a policy: the script runs as the test's own, not as the page's.
      await frame.evaluate(readFileSync(axe, "utf8"));
      const found = await frame.evaluate<{ id: string; help: string }[]>(
        `axe.run(document, { iframes: false, rules: { region: { enabled: ${frame === page.mainFrame()} }, "page-has-heading-one": { enabled: false }, "landmark-one-main": { enabled: false } } }).then(({ violations }) => violations.map(({ id, help }) => ({ id, help })))`,
      );
      expect([frame.url().split("#")[0], found]).toEqual([frame.url().split("#")[0], []]);
    }
    await page.close();
  });
});
