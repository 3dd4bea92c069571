// Needs: chromium
import fc from "fast-check";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { containsCardNumber } from "../../../src/web/console/card-number-text.js";
import { lookups, matching } from "../../../src/web/console/palette/palette-match.js";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { memberOf, openConsole } from "./support/console.js";

let browser: Browser;
let tenant: TestTenant;
beforeAll(async () => {
  [browser, tenant] = await Promise.all([sharedBrowser(), newTenant()]);
  const { status } = await tenant.manage("POST", "/proxies", {
    body: { name: "Acquirer", destination_url: "https://acquirer.example" },
  });
  expect(status).toBe(201);
});
afterAll(() => browser.close());

describe("entries", () => {
  it("are found by any of their words in any order, and are those that were given", () => {
    const word = fc.stringMatching(/^[A-Za-z]{1,8}$/);
    const entry = fc.record({ kind: word, name: fc.tuple(word, word).map((words) => words.join(" ")), path: word });
    fc.assert(
      fc.property(fc.array(entry), fc.string({ maxLength: 6 }), (entries, text) => {
        const found = matching(entries, text);
        expect(new Set(found).size).toBe(found.length);
        for (const each of found) expect(entries).toContain(each);
        for (const each of entries) {
          const [first = "", second = ""] = each.name.split(" ");
          expect(matching(entries, `${second.toUpperCase()} ${first}`)).toContain(each);
        }
      }),
    );
  });
});

describe("an address", () => {
  const numbers = fc.constantFrom("4242424242424242", "378282246310005", "6011000990139424", "5555555555554444");
  const gap = fc.constantFrom("", " ", "-");
  const words = fc.stringMatching(/^[a-z ]{0,6}$/).map((text) => (text === "" ? "" : `${text} `));

  it("gets no card number from what a person types, however it is written", () => {
    fc.assert(
      fc.property(numbers, gap, words, (number, between, before) => {
        const text = `${before}${[...number].join(between)}`;
        expect([text, containsCardNumber(text), lookups(text)]).toEqual([text, true, []]);
      }),
    );
  });

  it("gets every id that the vault makes", () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect([id, lookups(id).length]).toEqual([id, 3]);
      }),
      { numRuns: 2_000 },
    );
    expect(containsCardNumber("11111111-1111-1111-1111-111111111111")).toBe(false);
  });
});

describe("the palette", () => {
  it("leads to a page, an entity by name and a token by id, by keyboard alone, and gives the focus back", async () => {
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "ADMIN"));
    const { page } = console;
    await console.go("/usage");
    await page.getByRole("heading", { level: 1, name: "Usage" }).waitFor();
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: "Page, action, name" });
    await field.waitFor();
    await console.expectAccessible();
    await field.fill("setti");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await page.keyboard.press("Control+k");
    await field.fill("acqu");
    await page.getByRole("option", { name: "Proxy Acquirer" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Acquirer" }).waitFor();
    await page.keyboard.press("Control+k");
    await field.fill("/pci/");
    await page.getByRole("option", { name: "Tokens in /pci/" }).waitFor();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect.poll(() => new URL(page.url()).searchParams.get("container") ?? "").toBe("/pci/");
    // The new page takes the focus, which Find would otherwise give back to it.
    await page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("H1");
    await page.getByRole("button", { name: "Find" }).click();
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.className")).toBe("find");
    expect(console.wrongs).toEqual([]);
  });

  it("offers a role only what it may do, and asks before unsaved changes are lost", async () => {
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "AUDITOR"));
    const { page } = console;
    await console.go("");
    await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    await page.keyboard.press("Control+k");
    const options = page.getByRole("option");
    await options.first().waitFor();
    expect((await options.allTextContents()).filter((text) => text.startsWith("Action"))).toEqual([]);
    await using developer = await openConsole(browser, tenant, await memberOf(tenant, "DEVELOPER"));
    await developer.go("/proxies?new=1");
    await developer.page.getByLabel("Name").fill("Half done");
    await developer.page.keyboard.press("Control+k");
    await developer.page.getByRole("combobox", { name: "Page, action, name" }).fill("settings");
    await developer.page.keyboard.press("Enter");
    await developer.page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
    await developer.page.getByRole("button", { name: "Stay" }).click();
    expect(await developer.page.getByLabel("Name", { exact: true }).inputValue()).toBe("Half done");
    expect([...console.wrongs, ...developer.wrongs]).toEqual([]);
  });
});

describe("a browser that keeps nothing", () => {
  it("shows the console all the same", async () => {
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "ADMIN"));
    const { page } = console;
    await page.addInitScript(`for (const kind of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(globalThis, kind, { get() { throw new DOMException("blocked", "SecurityError"); } });
    }`);
    await console.go("");
    await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    await page.getByLabel("Colours").selectOption("dark");
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    expect(console.wrongs).toEqual([]);
  });
});
