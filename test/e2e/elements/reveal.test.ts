// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import type { RestClient } from "../../support/rest.js";
import { fieldFrame, openShop, randomCardNumber, type Shop, vaultUrl } from "./support/shop.js";

let shop: Shop;
let browser: Browser;
let backEnd: RestClient & { readonly id: string };
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), sharedBrowser()]);
  backEnd = await shop.tenant.backEnd();
});
afterAll(async () => {
  await browser?.close();
  await shop?.[Symbol.asyncDispose]();
});

async function cardToken(number: string): Promise<string> {
  const data = { number, expiration_month: 12, expiration_year: 2031 };
  return (await backEnd("POST", "/tokens", { body: { type: "card", data } })).body.id;
}

async function openReveal(token: string, options = "", type = "reveal"): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(
    shop.page(`<!doctype html><html lang="en"><title>Cards</title><div id="number"></div>
      <script src="${vaultUrl}/elements/v1/elements.js"></script><script>
      window.events = [];
      const group = cloakroom.elements({ baseUrl: "${vaultUrl}", publicKey: "${shop.publicKey}" });
      const shown = group.create("${type}", { label: "Card number", token: "${token}", path: "number" ${options} });
      for (const type of ["revealed", "hidden", "copied", "error"])
        shown.on(type, ({ type, error }) => window.events.push(error ? type + " " + error.code : type));
      window.mounted = shown.mount("#number");
      </script>`),
  );
  return page;
}

/** What a shop's back end does with the nonce that its page sends. */
const authorize = (nonce: string, token: string) =>
  backEnd("POST", "/sessions/authorize", {
    body: {
      nonce,
      rules: [
        {
          priority: 1,
          transform: "reveal",
          permissions: ["token:read"],
          conditions: [{ attribute: "id", operator: "equals", value: token }],
        },
      ],
    },
  });

const events = (page: Page) => page.evaluate<string[]>("window.events");

describe("a value in a frame", () => {
  it("is shown under an authorized session, and the page sees neither the value nor the session's key", async () => {
    const number = randomCardNumber();
    const token = await cardToken(number);
    const page = await openReveal(token);
    const frame = await fieldFrame(page, "reveal");
    await page.evaluate("addEventListener('message', ({ data }) => window.events.push(JSON.stringify(data)), true)");
    const session = await page.evaluate<{ nonce: string }>("group.createSession()");
    expect(Object.keys(session).sort()).toEqual(["expiresAt", "nonce"]);
    expect((await authorize(session.nonce, token)).status).toBe(200);
    await frame.getByRole("button", { name: "Show: Card number" }).click();
    await expect.poll(() => frame.locator("output").textContent()).toBe(number);
    const seen =
      JSON.stringify(await events(page)) + (await page.evaluate<string>("document.documentElement.outerHTML"));
    expect([seen.includes(number), seen.includes("key_prod_ses_")]).toEqual([false, false]);
    await page.close();
  });

  it("leaves log rows of the session's creation, authorization and read", async () => {
    const token = await cardToken(randomCardNumber());
    const page = await openReveal(token);
    await fieldFrame(page, "reveal");
    const { nonce } = await page.evaluate<{ nonce: string }>("group.createSession()");
    await authorize(nonce, token);
    await page.evaluate("shown.show()");
    await expect.poll(() => events(page)).toEqual(["revealed"]);
    const management = await shop.tenant.application({ type: "management", permissions: ["log:read"] });
    const rows = async (query: string) => (await management("GET", `/logs?${query}`)).body.data;
    const [read] = await rows(`entity_type=token&entity_id=${token}`);
    const publicId = (await shop.tenant.manage("GET", "/applications/key", { key: shop.publicKey })).body.id;
    expect(read).toMatchObject({ actor_type: "application", actor_id: publicId, operation: "read" });
    const [created] = (await rows("entity_type=session")).filter(
      ({ operation }: { operation: string }) => operation === "create",
    );
    expect(read.key_id).toBe(created.entity_id);
    const operations = (await rows("entity_type=session")).map(({ operation }: { operation: string }) => operation);
    expect(operations).toEqual(expect.arrayContaining(["authorize", "create"]));
    await page.close();
  });

  it("is hidden again after its time, or on request", async () => {
    const number = randomCardNumber();
    const token = await cardToken(number);
    const page = await openReveal(token, ", hideAfter: 1");
    const frame = await fieldFrame(page, "reveal");
    const { nonce } = await page.evaluate<{ nonce: string }>("group.createSession()");
    await authorize(nonce, token);
    await page.evaluate("shown.show()");
    await expect.poll(() => events(page)).toEqual(["revealed", "hidden"]);
    expect(await frame.locator("output").textContent()).toBe("••••");
    await page.close();
  });

  it("is copied without the page", async () => {
    const number = randomCardNumber();
    const token = await cardToken(number);
    const page = await openReveal(token);
    const frame = await fieldFrame(page, "reveal");
    const { nonce } = await page.evaluate<{ nonce: string }>("group.createSession()");
    await authorize(nonce, token);
    await frame.getByRole("button", { name: "Show" }).click();
    await expect.poll(() => frame.locator("output").textContent()).toBe(number);
    await frame.getByRole("button", { name: "Copy" }).click();
    await expect.poll(() => events(page)).toEqual(["revealed", "copied"]);
    await page.evaluate("document.body.append(document.createElement('textarea'))");
    await page.locator("textarea").focus();
    await page.keyboard.press("Control+V");
    expect(await page.locator("textarea").inputValue()).toBe(number);
    await page.close();
  });

  it("is copied by a button that does not show it, and which the page cannot press", async () => {
    const number = randomCardNumber();
    const token = await cardToken(number);
    const page = await openReveal(token, "", "copy");
    const frame = await fieldFrame(page, "copy");
    const { nonce } = await page.evaluate<{ nonce: string }>("group.createSession()");
    const button = frame.getByRole("button", { name: "Copy: Card number" });
    await button.click();
    await expect.poll(() => events(page)).toEqual(["error permission_denied"]);
    await authorize(nonce, token);
    await page.evaluate("shown.show()");
    await frame.getByRole("button", { name: "Card number" }).click();
    await expect.poll(() => events(page)).toEqual(["error permission_denied", "copied"]);
    expect(await frame.content()).not.toContain(number);
    await page.evaluate("document.body.append(document.createElement('textarea'))");
    await page.locator("textarea").focus();
    await page.keyboard.press("Control+V");
    expect(await page.locator("textarea").inputValue()).toBe(number);
    await page.close();
  });

  it.each([
    ["without a session", false, "no_session"],
    ["of another token than the session is for", true, "not_found"],
  ])("is not shown %s", async (_, isAuthorized, code) => {
    const token = await cardToken(randomCardNumber());
    const page = await openReveal(token);
    await fieldFrame(page, "reveal");
    if (isAuthorized) {
      const { nonce } = await page.evaluate<{ nonce: string }>("group.createSession()");
      await authorize(nonce, await cardToken(randomCardNumber()));
    }
    await page.evaluate("shown.show()");
    await expect
      .poll(() => events(page))
      .toEqual([expect.stringMatching(new RegExp(`^error (${code}|permission_denied)$`))]);
    await page.close();
  });
});
