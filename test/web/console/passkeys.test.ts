// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { operatorLink } from "../../support/test-browser.js";
import { memberOf, namedAddress, openBrowser, openWithAuthenticator } from "./support/console.js";

const url = namedAddress();
const REFUSED = /status of 40[0-9]/;
const NUMBER = "4242424242424242";

let browser: Browser;
let tenant: TestTenant;
let tokenId: string;
beforeAll(async () => {
  [browser, tenant] = await Promise.all([sharedBrowser(), newTenant()]);
  const backEnd = await tenant.backEnd();
  const data = { number: NUMBER, expiration_month: 12, expiration_year: 2030 };
  tokenId = (await backEnd("POST", "/tokens", { body: { type: "card", data } })).body.id;
});
afterAll(() => browser.close());

const openWithPasskeys = () => openWithAuthenticator(browser, { expected: REFUSED });

/** The OWNER's first passkey after the operator's link counts at once; that of any other member waits. */
async function takeLink(page: Page, email: string, of: TestTenant = tenant): Promise<void> {
  // Another document: a change of the fragment alone would not load the page again.
  await page.goto("about:blank");
  await page.goto(`${url}/console/sign-in#${await operatorLink(of.id, email)}`);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function addPasskey(page: Page): Promise<void> {
  await page.goto(`${url}/console/sign-ins`);
  await page.getByLabel("Name of a new passkey").fill("Laptop");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("cell", { name: "Laptop" }).waitFor();
}

describe("a passkey", () => {
  it("is added, asked for at the next sign-in, renamed and removed", async () => {
    await using console = await openWithPasskeys();
    const { page } = console;
    const own = await newTenant();
    const email = await memberOf(own, "OWNER");
    await takeLink(page, email, own);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await addPasskey(page);
    await console.expectAccessible();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("E-mail address").waitFor();

    await takeLink(page, email, own);
    await page.getByText("your account asks for a passkey").waitFor();
    await console.expectAccessible();
    await page.getByRole("button", { name: "Use your passkey" }).click();
    await page.getByRole("heading", { name: "Home" }).waitFor();

    await page.goto(`${url}/console/sign-ins`);
    await page.getByRole("button", { name: "Rename Laptop" }).click();
    await page.getByLabel("New name").fill("Old <laptop>");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("cell", { name: "Old <laptop>" }).waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("You have none.").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("leaves the sign-in waiting if its person does not use it, and says so", async () => {
    await using console = await openWithPasskeys();
    const { page } = console;
    const email = await memberOf(tenant, "DEVELOPER");
    await takeLink(page, email);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await addPasskey(page);
    await using other = await openBrowser(browser, { expected: REFUSED, origin: url });
    const devTools = await other.context.newCDPSession(other.page);
    await devTools.send("WebAuthn.enable");
    await devTools.send("WebAuthn.addVirtualAuthenticator", {
      options: { protocol: "ctap2", transport: "internal", hasUserVerification: true, isUserVerified: true },
    });
    await takeLink(other.page, email);
    await other.page.getByRole("button", { name: "Use your passkey" }).click();
    await other.page.getByText("The passkey was not used").waitFor();
    await other.page.goto(`${url}/console`);
    await other.page.getByRole("button", { name: "Continue with your passkey" }).waitFor();
    expect(other.wrongs).toEqual([]);
  });
});

describe("a value in the clear", () => {
  it("is shown with setting, passkey and reason, and hidden when the window is left and after 30 s", async () => {
    await using console = await openWithPasskeys();
    const { page } = console;
    await takeLink(page, await memberOf(tenant, "OWNER"));
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await addPasskey(page);
    await page.goto(`${url}/console/settings`);
    await page.getByLabel(/may see values in the clear/).check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved", { exact: true }).waitFor();

    await page.clock.install();
    await page.goto(`${url}/console/tokens?id=${tokenId}`);
    const reveal = async () => {
      await page.getByLabel("Reason").fill("a dispute über 17 €");
      await page.getByRole("button", { name: "Show the value" }).click();
      await page.getByText(NUMBER).waitFor();
    };
    await reveal();
    await console.expectAccessible();
    expect(page.url()).not.toContain(NUMBER);
    expect(await page.title()).not.toContain(NUMBER);
    await page.getByRole("button", { name: "Hide now" }).click();
    await page.getByText(NUMBER).waitFor({ state: "detached" });

    await reveal();
    await page.clock.fastForward(15_000);
    expect(await page.getByText(NUMBER).count()).toBe(1);
    await page.clock.fastForward(15_000);
    await page.getByText(NUMBER).waitFor({ state: "detached" });

    await reveal();
    await page.evaluate("dispatchEvent(new Event('blur'))");
    await page.getByText(NUMBER).waitFor({ state: "detached" });
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state])");
    expect(kept).not.toContain(NUMBER);
    expect(await page.content()).not.toContain(NUMBER);
    expect(console.wrongs).toEqual([]);
    const { body } = await tenant.manage("GET", `/logs?entity_type=token&entity_id=${tokenId}&operation=read&size=1`);
    expect(body.data[0]).toMatchObject({ transform: "reveal", reason: "a dispute über 17 €", actor_type: "user" });
  });

  it("is proved where an operation was refused without it, and nothing that was typed is lost", async () => {
    await using console = await openWithPasskeys();
    const { page } = console;
    const own = await newTenant();
    await takeLink(page, await memberOf(own, "OWNER"), own);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.goto(`${url}/console/applications?new=1`);
    await page.getByLabel("Name").fill("Charges");
    await page.getByLabel("token:read").check();
    await page.getByLabel("Shows").selectOption("reveal");
    await page.getByRole("button", { name: "Create application and key" }).click();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("Proved for five minutes").waitFor();
    await page.getByRole("button", { name: "Create application and key" }).click();
    await page.getByText(/key_\w+_pvt_/).waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("is not given by the first passkey of another member, and the page says when it is", async () => {
    await using console = await openWithPasskeys();
    const { page } = console;
    await takeLink(page, await memberOf(tenant, "ADMIN"));
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.goto(`${url}/console/applications?new=1`);
    await page.getByLabel("Name").fill("Charges");
    await page.getByLabel("token:read").check();
    await page.getByLabel("Shows").selectOption("reveal");
    await page.getByRole("button", { name: "Create application and key" }).click();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("It counts in a day, or once the OWNER confirms it").waitFor();
    expect(console.wrongs).toEqual([]);
  });
});
