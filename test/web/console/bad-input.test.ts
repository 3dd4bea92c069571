// Waits: 40 s
// Needs: chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { prepareApplication } from "../../../src/access/applications.js";
import { asServer } from "../../../src/audit/tenant-database.js";
import { isTenantId } from "../../../src/base/ids.js";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant, withVault } from "../../support/tenant.js";
import { operatorLink } from "../../support/test-browser.js";
import { memberOf, type OpenConsole, openBrowser, openConsole } from "./support/console.js";

let browser: Browser;
beforeAll(async () => {
  browser = await sharedBrowser();
});
afterAll(() => browser.close());

describe("ten thousand applications", () => {
  const COUNT = 10_000;
  let tenant: TestTenant;
  let console: OpenConsole;
  beforeAll(async () => {
    tenant = await newTenant();
    await withVault(inject("serverEnvironment"), async ({ database, keyring }) => {
      if (!isTenantId(tenant.id)) throw new Error("not the id of a tenant");
      const server = asServer(database, await keyring.of(tenant.id));
      for (let made = 0; made < COUNT; made += 500) {
        await server.bulk(async (tx) => {
          for (let one = made; one < made + 500; one += 1) {
            const name = `Application ${String(one).padStart(5, "0")}`;
            await prepareApplication("private", { name, permissions: ["token:create"], rules: [] }, false)(tx);
          }
        });
      }
    });
    console = await openConsole(browser, tenant, await memberOf(tenant, "OWNER"));
  });
  afterAll(() => console[Symbol.asyncDispose]());

  it("are listed by pages, of which one at a time is in the document, and one is found by a part of its name", async () => {
    const { page } = console;
    const rows = page.getByRole("table").getByRole("row");
    const [nodes, bytes] = [new Set<number>(), new Set<number>()];
    page.on("response", async (response) => {
      if (response.url().endsWith("/ListApplications")) bytes.add((await response.body()).length);
    });
    await console.go("/applications?sort=name");
    for (const number of [1, 2, 3, 4, 5]) {
      await page.getByText(`Page ${number} of 201`).waitFor();
      await console.settle();
      expect(await rows.count()).toBe(51);
      nodes.add(await page.evaluate("document.querySelectorAll('*').length"));
      await page.getByRole("button", { name: "Next" }).click();
    }
    expect(Math.max(...nodes) - Math.min(...nodes)).toBeLessThan(20);
    await console.go("/applications?page=200&sort=name");
    await page.getByText("Application 09999").waitFor();
    await page.getByLabel("Name").fill("04711");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("link", { name: "Application 04711" }).waitFor();
    await expect.poll(() => rows.count()).toBe(2);
    // A page has 50 applications, however many there are.
    expect(Math.max(...bytes)).toBeLessThan(20_000);
    expect(console.wrongs).toEqual([]);
  });

  it("are all found where code or an export needs one, and by Find", async () => {
    const { page } = console;
    await console.go("/reactors?new=1");
    await page.getByText("The first 100 of 10000 by name are listed below.").waitFor();
    const choice = page.getByLabel("Acts as application", { exact: true });
    expect(await choice.locator("option").count()).toBe(101);
    await page.getByLabel("Find: acts as application").fill("08123");
    await page.getByText("1 are listed below.").waitFor();
    await choice.selectOption({ label: "Application 08123" });
    await console.expectAccessible();
    await page.getByRole("button", { name: /^Find/ }).click();
    await page.getByRole("combobox", { name: "Page, action" }).fill("09876");
    await page.getByRole("option", { name: "Application 09876" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });
});

describe("names that are hard to show", () => {
  const NAMES = [
    "متجر البطاقات",
    "👩‍👩‍👧‍👦".repeat(20),
    "long".repeat(50),
    "\u202egnp.exe",
    "<img src=x onerror=alert(1)>",
  ];

  it("neither break a list, a page or a choice at 320 px, nor turn the order of what is beside them", async () => {
    const tenant = await newTenant();
    const shown = new Map<string, string>();
    for (const name of NAMES) {
      const application = await tenant.manage("POST", "/applications", {
        body: { name, type: "private", permissions: ["token:create"] },
      });
      const body = { name, code: "module.exports = async () => ({});", application: { id: application.body.id } };
      const reactor = await tenant.manage("POST", "/reactors", { body });
      expect([name, application.status, reactor.status]).toEqual([name, 201, 201]);
      shown.set(`/applications?id=${application.body.id}`, name);
      shown.set(`/reactors?id=${reactor.body.id}`, name);
    }
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "OWNER"), { width: 320 });
    const { page } = console;
    for (const path of ["/applications", "/reactors", ...shown.keys()]) {
      await console.follow(path);
      await page.locator("main h1").waitFor();
      await console.settle();
      expect([path, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([path, 320]);
      await console.expectAccessible();
      expect(await page.locator("main h1, main .name").allTextContents()).not.toContainEqual(
        expect.stringMatching(/[\u202a-\u202e]/),
      );
    }
    expect(console.wrongs).toEqual([]);
  });
});

describe("a role that is lowered while a page is open", () => {
  const SCREENS = ["/tokens", "/log", "/members", "/payments", "/connections", "/usage", "/exports"];
  let tenant: TestTenant;
  let email: string;
  let memberId: string;
  beforeAll(async () => {
    tenant = await newTenant();
    email = await memberOf(tenant, "ADMIN");
    const { body } = await tenant.manage("GET", "/tenants/self/members?size=50");
    memberId = body.data.find(({ user }: { user: { email: string } }) => user.email === email).id;
    const backEnd = await tenant.backEnd();
    await backEnd("POST", "/tokens", { body: { id: "seen-before", type: "token", data: "x" } });
  });
  const setRole = async (role: string) => {
    const { status } = await tenant.manage("PUT", `/tenants/self/members/${memberId}`, { body: { role } });
    expect(status).toBe(200);
  };

  /** A change of role ends the sign-in. The person signs in again, in another tab. */
  const signInAgain = async ({ context }: OpenConsole) => {
    const tab = await context.newPage();
    await tab.goto(`${inject("serverUrl")}/console/sign-in#${await operatorLink(tenant.id, email)}`);
    await tab.getByRole("button", { name: "Sign in" }).click();
    await tab.getByRole("heading", { name: "Home" }).waitFor();
    await tab.close();
  };

  it.each(SCREENS)("takes %s away: the page says so, shows nothing of it, and leads on", async (path) => {
    await setRole("ADMIN");
    await using console = await openConsole(browser, tenant, email, { expected: /status of 40[13]/ });
    const { page } = console;
    await console.go(path);
    await page.locator("main h1").waitFor();
    await console.settle();
    await setRole("DEVELOPER");
    await signInAgain(console);
    const content = page.locator("main");
    await content.getByText("Your role DEVELOPER may not call").first().waitFor();
    await content.getByText("Your role in this tenant is now DEVELOPER.").waitFor();
    await console.settle();
    expect(await content.getByRole("table").count()).toBe(0);
    expect(await content.textContent()).not.toContain("seen-before");
    const names = await page.getByRole("navigation", { name: "Console" }).getByRole("link").allTextContents();
    expect(names).not.toContain("Log");
    await console.expectAccessible();
    await content.getByRole("link", { name: "Go to the home page" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("refuses what was typed in words, and keeps the text", async () => {
    await setRole("ADMIN");
    await using console = await openConsole(browser, tenant, email, { expected: /status of 40[13]/ });
    const { page } = console;
    const draft = { name: "Edited", type: "private", permissions: ["token:create"] };
    const { body } = await tenant.manage("POST", "/applications", { body: draft });
    await console.go(`/applications?id=${body.id}`);
    await page.getByRole("button", { name: "Edit name and rights" }).click();
    await page.getByLabel("Name").fill("Typed before");
    // A call under way would be refused before that of the button, and the question would cover it.
    await console.settle();
    await setRole("AUDITOR");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    await signInAgain(console);
    await page.getByText("Your role in this tenant is now AUDITOR.").waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("Typed before");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Your role AUDITOR may not call ApplicationService/UpdateApplication").waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("Typed before");
    expect((await tenant.manage("GET", `/applications/${body.id}`)).body.name).toBe("Edited");
    expect(console.wrongs).toEqual([]);
  });

  it("asks for one sign-in, although a call of the former one comes back after it", async () => {
    await setRole("ADMIN");
    await using console = await openConsole(browser, tenant, email, { expected: /status of 401/ });
    const { page } = console;
    await console.go("/applications?new=1");
    await page.getByLabel("Name").fill("Typed before");
    await page.getByLabel("token:create").check();
    const released = Promise.withResolvers<void>();
    const held = "**/cloakroom.v1.ApplicationService/CreateApplication";
    await page.route(held, async (route) => {
      const response = await route.fetch();
      await released.promise;
      await route.fulfill({ response });
    });
    await console.settle();
    await setRole("AUDITOR");
    await page.getByRole("button", { name: "Create application and key" }).click();
    await page.getByRole("button", { name: /^Find/ }).click();
    await page.getByRole("combobox", { name: "Page, action" }).fill("Slow");
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.waitFor();
    await signInAgain(console);
    await dialog.waitFor({ state: "detached" });
    const late = page.waitForResponse(held);
    released.resolve();
    expect((await late).status()).toBe(401);
    await console.settle();
    expect(await dialog.count()).toBe(0);
    expect(console.wrongs).toEqual([]);
  });

  it("hides the page behind the sign-in once the person is removed", async () => {
    const gone = await memberOf(tenant, "ADMIN");
    const { body } = await tenant.manage("GET", "/tenants/self/members?size=50");
    const { id } = body.data.find(({ user }: { user: { email: string } }) => user.email === gone);
    await using console = await openConsole(browser, tenant, gone, { expected: /status of 401/ });
    const { page } = console;
    await console.go("/tokens");
    await page.getByText("seen-before").waitFor();
    await tenant.manage("DELETE", `/tenants/self/members/${id}`);
    await page.getByRole("link", { name: "Applications" }).click();
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    const backdrop = "getComputedStyle(document.querySelector('dialog'), '::backdrop').backgroundColor";
    expect(await page.evaluate(backdrop)).toMatch(/^rgb\(/);
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });
});

describe("a browser that keeps nothing", () => {
  const BLOCKED = `for (const name of ["localStorage", "sessionStorage"]) {
    Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
  }`;

  it("works without storage: screens, theme and tenant, and the documents", async () => {
    const tenant = await newTenant();
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "OWNER"));
    const { page } = console;
    await page.addInitScript(BLOCKED);
    for (const path of ["/", "/tokens", "/applications", "/settings", "/sign-ins"]) {
      await console.go(path);
      await page.locator("main h1").waitFor();
      await console.settle();
    }
    await page.getByLabel("Colours").selectOption("dark");
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    await page.goto(`${inject("serverUrl")}/docs`);
    await page.locator("h1").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("says so before a sign-in if it keeps no cookies, and leaves the link unused", async () => {
    await using console = await openBrowser(browser, { expected: /status of 401/ });
    const { page } = console;
    await page.addInitScript("Object.defineProperty(Navigator.prototype, 'cookieEnabled', { get: () => false });");
    await console.go("/sign-in");
    await page.getByText("This browser keeps no cookies").waitFor();
    expect(await page.getByRole("button", { name: "Sign in" }).count()).toBe(0);
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });
});

describe("on paper", () => {
  it("the log and a guide have no navigation and nothing to press, are dark on white, and fit the sheet", async () => {
    const tenant = await newTenant();
    const backEnd = await tenant.backEnd();
    for (let made = 0; made < 30; made += 1) await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
    await using console = await openConsole(browser, tenant, await memberOf(tenant, "OWNER"), { scheme: "dark" });
    const { page } = console;
    await console.go("/log");
    await page.getByText("Token created").first().waitFor();
    await console.settle();
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    // A4 with margins of 1 cm.
    await page.setViewportSize({ width: 718, height: 1_047 });
    const isShown = (selector: string) => page.locator(selector).first().isVisible();
    const sheet = async () => ({
      width: await page.evaluate("document.documentElement.scrollWidth"),
      ink: await page.evaluate("getComputedStyle(document.body).color"),
      buttons: await page.locator("button:visible").count(),
    });
    expect(await isShown("thead")).toBe(true);
    expect(await isShown(".side")).toBe(false);
    expect(await sheet()).toEqual({ width: 718, ink: "rgb(28, 24, 35)", buttons: 0 });
    const pdf = await page.pdf({ format: "A4" });
    expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");

    await page.goto(`${inject("serverUrl")}/docs/guides/webhooks`);
    await page.locator("h1").waitFor();
    expect(await isShown("nav")).toBe(false);
    expect(await isShown("pre")).toBe(true);
    const cut = "[...document.querySelectorAll('pre')].filter((one) => one.scrollWidth > one.clientWidth).length";
    expect([await page.evaluate(cut), await sheet()]).toEqual([0, { width: 718, ink: "rgb(28, 24, 35)", buttons: 0 }]);
    expect(console.wrongs).toEqual([]);
  });
});
