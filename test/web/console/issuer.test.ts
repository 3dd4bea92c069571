// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AS_OLDEST_BROWSER, sharedBrowser } from "../../support/browser.js";
import { OidcIssuer } from "../../support/oidc-issuer.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let browser: Browser;
let issuer: OidcIssuer;
let server: ServerHere;
let tenant: TestTenant;
beforeAll(async () => {
  [browser, issuer] = await Promise.all([sharedBrowser(), OidcIssuer.open()]);
  server = await startServerHere({ ...issuer.settings, OPENID_SECOND_FACTOR: "amr=mfa" });
  issuer.serve(server.url);
  // The page asks which tenant only where there are several.
  await newTenant(server.url, server.environment);
  tenant = await newTenant(server.url, server.environment);
});
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
  issuer?.close();
});

/** Logs in at the issuer's page, which asks for the consent at the first time only. */
async function logIn(page: Page, account: string): Promise<void> {
  await page.getByPlaceholder("Enter any login").fill(account);
  await page.getByPlaceholder("and password").fill("x");
  await page.getByRole("button", { name: "Sign-in" }).click();
  const arrived = page.getByRole("heading", { level: 1, name: "Home" });
  const consent = page.getByRole("button", { name: "Continue" });
  await arrived.or(consent).waitFor();
  if (await consent.isVisible()) await consent.click();
  await arrived.waitFor();
}

it("a person whose issuer proves second factors signs in there again, in another tab, and goes on with what was typed", async () => {
  const body = { email: "ada@example.com", role: "ADMIN" };
  expect((await tenant.manage("POST", "/tenants/self/invitations", { body })).status).toBe(201);
  const context = await browser.newContext();
  await context.addInitScript({ content: AS_OLDEST_BROWSER });
  const page = await context.newPage();
  const atIssuer = { name: `Sign in at ${new URL(issuer.url).host}` };
  await page.goto(`${server.url}/console`);
  await page.getByLabel("Tenant id").fill(tenant.id);
  await page.getByRole("button", atIssuer).click();
  await logIn(page, "ada");

  await page.getByRole("link", { name: "Make an application" }).first().click();
  await page.getByLabel("Name").fill("Charges");
  await page.getByLabel("Shows").selectOption("reveal");
  await page.getByRole("button", { name: "Create application and key" }).click();
  issuer.proofs.set("ada", { amr: ["mfa"] });
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: `${atIssuer.name}, in another tab` }).click();
  const other = await opened;
  await other.getByRole("button", atIssuer).click();
  await logIn(other, "ada");

  await page.getByRole("button", { name: "Create application and key" }).click();
  await page.getByText("Copy the key now.").waitFor();
  expect((await tenant.manage("GET", "/applications")).body.data).toContainEqual(
    expect.objectContaining({ name: "Charges" }),
  );
});

it("a sign-in that ended is renewed at the issuer in another tab, with the same tenant and by a browser's wrong clock", async () => {
  const body = { email: "grace@example.com", role: "ADMIN" };
  expect((await tenant.manage("POST", "/tenants/self/invitations", { body })).status).toBe(201);
  const context = await browser.newContext();
  const page = await context.newPage();
  const atIssuer = { name: `Sign in at ${new URL(issuer.url).host}` };
  await page.goto(`${server.url}/console/sign-in?tenant=${tenant.id}`);
  await page.getByRole("button", atIssuer).click();
  await logIn(page, "grace");

  await page.getByRole("link", { name: "Make an application" }).first().click();
  await page.getByLabel("Name").fill("Draft that stays");
  await page.getByRole("group", { name: "Permissions of rule 1" }).getByText("token:create").waitFor();
  // Of another tenant, as a link of that tenant's leaves it.
  await page.evaluate("localStorage.setItem('cloakroom-tenant', 'another')");
  await context.clearCookies();
  await page.getByRole("button", { name: "Create application and key" }).click();
  await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: `${atIssuer.name}, in another tab` }).click();
  const other = await opened;
  await other.addInitScript({ content: "{ const now = Date.now; Date.now = () => now() + 3_600_000; }" });
  expect(await other.getByLabel("Tenant id").inputValue()).toBe(tenant.id);
  await other.getByRole("button", atIssuer).click();
  await logIn(other, "grace");

  await page.getByRole("dialog", { name: "Sign in again" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Create application and key" }).click();
  await page.getByText("Copy the key now.").waitFor();
  const { data } = (await tenant.manage("GET", "/applications")).body;
  expect(data).toContainEqual(expect.objectContaining({ name: "Draft that stays" }));
});
