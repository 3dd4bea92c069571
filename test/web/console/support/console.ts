import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { expect, inject } from "vitest";
import { AS_OLDEST_BROWSER } from "../../../support/browser.js";
import { newMember } from "../../../support/member.js";
import type { TestTenant } from "../../../support/tenant.js";
import { operatorLink, signedIn } from "../../../support/test-browser.js";

export const ROLES = ["OWNER", "ADMIN", "AUDITOR", "DEVELOPER"] as const;
export type RoleName = (typeof ROLES)[number];

const url = inject("serverUrl");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Runs in pages: a violation of the content security policy becomes an error in the browser's console. */
const NOTE_VIOLATIONS = `document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) => {
  console.error(\`policy violation: \${violatedDirective} \${blockedURI} \${sample}\`);
});`;

/** A response's effects take a few milliseconds to render and to send what follows from them. */
const QUIET_MS = 100;
const LOOK_MS = 10;

/** The documents in which axe has found nothing. */
const found = new Set<string>();

/** A document without its texts, numbers and ids. */
function structureOf(html: string): string {
  return html
    .replaceAll(/>[^<]*[^<\s][^<]*</g, ">text<")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "id")
    .replaceAll(/\d+/g, "0");
}

/** The address of a member with a role; a new one unless it is the OWNER. */
export async function memberOf(tenant: TestTenant, role: RoleName): Promise<string> {
  if (role === "OWNER") {
    const { body } = await tenant.manage("GET", "/tenants/self/owner");
    return String(body.user.email);
  }
  return await newMember(tenant, role);
}

/** A console in a browser of its own, and what went wrong in it. */
export interface OpenConsole extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Page errors, errors in the browser's console, policy violations and requests to other origins. */
  readonly wrongs: readonly string[];
  /** Opens an address of the console, such as `/tokens?id=…`. */
  go(path: string): Promise<void>;
  /** Goes there as a link of the console does: the page is loaded only once, which is most of what a place costs. */
  follow(path: string): Promise<void>;
  /** Waits until everything has loaded: no placeholder is left, and no request has been open for {@link QUIET_MS}. */
  settle(): Promise<void>;
  /**
   * Expects that axe finds nothing. Also while dialogs are open. A document of the same structure, width and colours as an
   * earlier one is not examined again: other texts change nothing of what axe finds.
   */
  expectAccessible(): Promise<void>;
}

interface Options {
  readonly width?: number;
  readonly scheme?: "light" | "dark";
  readonly timezoneId?: string;
  /** The vault's, if it is opened under another name. */
  readonly origin?: string;
  /** Errors of these texts are part of the test. */
  readonly expected?: RegExp;
}

/** Opens a browser without a sign-in. */
export async function openBrowser(browser: Browser, options: Options = {}): Promise<OpenConsole> {
  const { width = 1_280, scheme = "light", timezoneId = "Asia/Kathmandu", expected, origin: own = url } = options;
  const context = await browser.newContext({
    ...{ viewport: { width, height: 900 }, colorScheme: scheme, timezoneId, reducedMotion: "reduce", locale: "en-GB" },
  });
  const page = await context.newPage();
  const wrongs: string[] = [];
  const note = (text: string) => expected?.test(text) || wrongs.push(text);
  await page.addInitScript({ content: `${NOTE_VIOLATIONS}\n${AS_OLDEST_BROWSER}` });
  page.on("pageerror", (error) => note(`page error: ${error.stack}`));
  page.on("console", (message) => message.type() === "error" && note(`console: ${message.text()}`));
  const open = new Set<Request>();
  page.on("requestfinished", (request) => open.delete(request));
  page.on("requestfailed", (request) => open.delete(request));
  page.on("request", (request) => {
    open.add(request);
    const { origin, protocol } = new URL(request.url());
    if (origin !== own && protocol !== "blob:" && protocol !== "about:") note(`request to ${request.url()}`);
  });
  const go = async (path: string) => {
    await page.goto(`${url}/console${path}`);
  };
  return {
    ...{ page, context, wrongs },
    go,
    async follow(path) {
      if (!page.url().startsWith(`${url}/console`)) return await go(path);
      await page.evaluate(`history.pushState(null, "", ${JSON.stringify(`/console${path}`)})`);
    },
    async settle() {
      for (let quiet = 0; quiet < QUIET_MS; quiet = open.size > 0 ? 0 : quiet + LOOK_MS) await pause(LOOK_MS);
      await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
    },
    async expectAccessible() {
      const structure = `${width} ${scheme} ${structureOf(await page.content())}`;
      if (found.has(structure)) return;
      if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
      const report = await page.evaluate(
        `axe.run({ runOnly: ${JSON.stringify(AXE_TAGS)}, resultTypes: ["violations"] })`,
      );
      const violations = Object(report).violations.map((each: { id: string; nodes: { html: string }[] }) => [
        each.id,
        each.nodes.map(({ html }) => html.slice(0, 200)),
      ]);
      expect(violations).toEqual([]);
      found.add(structure);
    },
    async [Symbol.asyncDispose]() {
      await context.close();
    },
  };
}

/** Opens a browser in which a member is signed in. */
export async function openConsole(
  browser: Browser,
  tenant: TestTenant,
  email: string,
  options: Options = {},
): Promise<OpenConsole> {
  const opened = await openBrowser(browser, options);
  const { cookies } = await signedIn(tenant.id, email);
  await opened.context.addCookies(
    [...cookies].map(([name, value]) => ({ name, value, url, httpOnly: true, sameSite: "Strict" as const })),
  );
  return opened;
}

/** Browsers make no passkeys for 127.0.0.1: the vault's address by name. */
export function namedAddress(address: string = url): string {
  return address.replace("127.0.0.1", "localhost");
}

/** Opens a browser with an authenticator that verifies its person, as a laptop has one. */
export async function openWithAuthenticator(browser: Browser, options: Options = {}): Promise<OpenConsole> {
  const opened = await openBrowser(browser, { origin: namedAddress(), ...options });
  const devTools = await opened.context.newCDPSession(opened.page);
  await devTools.send("WebAuthn.enable");
  await devTools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      ...{ protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
  return opened;
}

/** The same, in which the OWNER is signed in by an operator's link, and can add a passkey that counts at once. */
export async function openOwner(browser: Browser, tenant: TestTenant, options: Options = {}): Promise<OpenConsole> {
  const opened = await openWithAuthenticator(browser, options);
  const origin = namedAddress();
  await opened.page.goto(`${origin}/console/sign-in#${await operatorLink(tenant.id, "owner@example.com")}`);
  await opened.page.getByRole("button", { name: "Sign in" }).click();
  await opened.page.getByRole("heading", { name: "Home" }).waitFor();
  return { ...opened, go: async (path) => void (await opened.page.goto(`${origin}/console${path}`)) };
}
