// Needs: chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { nextSignInLink, operatorLink } from "../../support/test-browser.js";
import { memberOf, openBrowser, openConsole } from "./support/console.js";

/** The browser says so itself when a call is refused. */
const REFUSED = /status of 40[0-9]/;

const url = inject("serverUrl");
let browser: Browser;
let tenant: TestTenant;
let email: string;
beforeAll(async () => {
  [browser, tenant] = await Promise.all([sharedBrowser(), newTenant()]);
  email = await memberOf(tenant, "ADMIN");
});
afterAll(() => browser.close());

describe("signing in", () => {
  it("leads by a mailed link from the address to the console by keyboard alone", async () => {
    await using console = await openBrowser(browser, { expected: REFUSED });
    const { page } = console;
    await console.go("");
    await page.getByLabel("E-mail address").focus();
    await page.keyboard.type(email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(tenant.id);
    await console.expectAccessible();
    await page.keyboard.press("Enter");
    await page.getByText("Check your mail").waitFor();
    await page.getByText("This vault has no mail server: the message is a file").waitFor();
    await page.goto(`${url}/console/sign-in#${await nextSignInLink(email)}`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    expect(page.url()).toBe(`${url}/console/sign-in`);
    await console.expectAccessible();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Home" }).waitFor();
    expect(await page.title()).toBe("Home · Cloakroom");
    expect(console.wrongs).toEqual([]);
  });

  it("says the same for an address of no member", async () => {
    await using console = await openBrowser(browser, { expected: REFUSED });
    const { page } = console;
    await console.go("");
    await page.getByLabel("E-mail address").fill("unknown@example.com");
    await page.getByLabel("Tenant id").fill(tenant.id);
    await page.getByRole("button", { name: "Mail me a link" }).click();
    await page.getByText("Check your mail").waitFor();
  });

  it("names a wrong field beside it", async () => {
    await using console = await openBrowser(browser, { expected: REFUSED });
    const { page } = console;
    await console.go("");
    await page.getByLabel("E-mail address").fill("a@b.example");
    await page.getByLabel("Tenant id").fill("none");
    await page.getByRole("button", { name: "Mail me a link" }).click();
    await expect.poll(() => page.getByLabel("Tenant id").getAttribute("aria-invalid")).toBe("true");
    await console.expectAccessible();
  });

  it("with a link that was used offers another", async () => {
    const link = await operatorLink(tenant.id, email);
    for (const works of [true, false]) {
      await using console = await openBrowser(browser, { expected: REFUSED });
      const { page } = console;
      await console.go(`/sign-in#${link}`);
      await page.getByRole("button", { name: "Sign in" }).click();
      if (works) await page.getByRole("heading", { name: "Home" }).waitFor();
      else await page.getByRole("button", { name: "Ask for another link" }).click();
    }
  });
});

describe("a sign-in that ends", () => {
  it("is renewed over the page, which keeps what was typed", async () => {
    await using console = await openConsole(browser, tenant, email, { expected: REFUSED });
    const { page, context } = console;
    await console.go("/applications?new=1");
    await page.getByLabel("Name").fill("Draft that stays");
    await page.getByRole("group", { name: "Permissions of rule 1" }).getByText("token:create").waitFor();
    const cookies = await context.cookies();
    await context.clearCookies();
    await page.getByRole("button", { name: "Create application and key" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.waitFor();
    expect(await dialog.getByLabel("E-mail address").inputValue()).toBe(email);
    expect(await page.content()).not.toContain("BT-API-KEY");
    await console.expectAccessible();
    await context.addCookies(cookies);
    const other = await context.newPage();
    await other.goto(`${url}/console/sign-in#${await operatorLink(tenant.id, email)}`);
    await other.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Create application and key" }).click();
    await page.getByText("Copy the key now.").waitFor();
  });

  it("shows the sign-in and calls nothing more if its person ends it", async () => {
    await using console = await openConsole(browser, tenant, email, { expected: REFUSED });
    const { page } = console;
    await console.go("");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Cloakroom" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });
});

describe("another tenant", () => {
  it("is switched to by its id, in all tabs, and nothing of the first stays", async () => {
    const other = await newTenant();
    await using console = await openConsole(browser, tenant, "owner@example.com", { expected: REFUSED });
    const { page, context } = console;
    const tab = await context.newPage();
    await tab.goto(`${url}/console/applications`);
    await tab.getByRole("link", { name: "Management" }).waitFor();
    await console.go("/sign-ins");
    await page.getByLabel("Tenant id").fill("wrong");
    await page.getByRole("button", { name: "Switch" }).click();
    await expect.poll(() => page.getByLabel("Tenant id").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Tenant id").fill(other.id);
    await page.getByRole("button", { name: "Switch" }).click();
    for (const each of [page, tab]) {
      await each.getByRole("heading", { name: "Home" }).waitFor();
      await each.locator("dd", { hasText: other.id }).waitFor();
    }
    expect(console.wrongs).toEqual([]);
  });
});

describe("the page", () => {
  it("has a strict policy, is the same for all, and no other page may frame it", async () => {
    for (const path of ["/console", "/console/tokens?id=%2F", "/console/unknown"]) {
      const response = await fetch(`${url}${path}`);
      expect([path, response.status]).toEqual([path, 200]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "cache-control": "no-cache",
        "cross-origin-opener-policy": "same-origin",
        "origin-agent-cluster": "?1",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      });
      const policy = response.headers.get("content-security-policy") ?? "";
      for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]) {
        expect(policy).toContain(part);
      }
      for (const part of ["frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"]) {
        expect(policy).toContain(part);
      }
      expect(policy).not.toContain("unsafe");
      expect(await response.text()).not.toMatch(/<script>|<style|style=/);
    }
  });
});
