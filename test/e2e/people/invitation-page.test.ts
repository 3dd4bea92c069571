// Needs: chromium
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { nextLink } from "../../support/mail.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const url = inject("serverUrl");
let tenant: TestTenant;
let other: TestTenant;
let run: string;
/** All are invited at once: a message takes up to a second. */
const NAMES = ["ada", "eager", "scanned", "careful", "exact", "grace", "late", "headers"] as const;
const invitations = new Map<string, { readonly id: string; readonly link: string }>();
beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  run = tenant.id.slice(-12);
  await tenant.manage("PUT", "/tenants/self", { body: { name: `<script>alert("${run}")</script>` } });
  await Promise.all(NAMES.map(async (name) => invitations.set(name, await invite(name, tenant))));
});

/** Messages of all files are in one directory: addresses are this file's own. */
const addressOf = (name: string) => `${name}-${run}@example.com`;
const invite = async (name: string, by: TestTenant) => {
  const { status, body } = await by.manage("POST", "/tenants/self/invitations", { body: { email: addressOf(name) } });
  expect(status).toBe(201);
  return { id: String(body.id), link: await nextLink(addressOf(name), 0) };
};
const invited = (name: (typeof NAMES)[number]) => {
  const invitation = invitations.get(name);
  if (!invitation) throw new Error(`${name} was not invited`);
  return invitation;
};
const members = async (by = tenant) => (await by.manage("GET", "/tenants/self/members")).body.data;
const membersCalled = async (name: string) =>
  (await members()).filter(({ user }: { user: { email: string } }) => user.email === addressOf(name));
const accept = (link: string, form: Record<string, string> = {}) =>
  fetch(link, { method: "POST", body: new URLSearchParams(form) });
const logOf = async (id: string) => {
  const { body } = await tenant.manage("GET", `/logs?entity_id=${id}`);
  return body.data.map(({ operation, actor_type }: { operation: string; actor_type: string }) => [
    operation,
    actor_type,
  ]);
};

describe("without a mail server", () => {
  it("messages are files that only the operator may read, and the server says so", async () => {
    const directory = join(inject("serverEnvironment").CLOAKROOM_DATA_DIR ?? "", "mail");
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const files = readdirSync(directory);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect(statSync(join(directory, file)).mode & 0o777, file).toBe(0o600);
    expect(readFileSync(inject("serverLog"), "utf8")).toContain(`messages are written to files in ${directory}`);
  });
});

describe("accepting", () => {
  it("creates a user and a member, and ends the invitation", async () => {
    const { id, link } = invited("ada");
    const response = await accept(link, { first_name: " Ada ", last_name: "Lovelace" });
    expect(response.status).toBe(200);
    const [member, ...others] = await membersCalled("ada");
    expect(others).toEqual([]);
    expect(member).toEqual({
      id: expect.any(String),
      tenant_id: tenant.id,
      role: "ADMIN",
      user: { id: expect.any(String), email: addressOf("ada"), first_name: "Ada", last_name: "Lovelace" },
      created_by: member.user.id,
      created_at: expect.any(String),
      created_date: member.created_at,
    });
    expect((await tenant.manage("GET", `/tenants/self/invitations/${id}`)).status).toBe(404);
    expect((await tenant.manage("POST", `/tenants/self/invitations/${id}/resend`)).status).toBe(404);
    expect(await logOf(id)).toEqual([
      ["accept", "user"],
      ["create", "application"],
    ]);
    expect(await logOf(member.id)).toEqual([["create", "user"]]);
    const again = await tenant.manage("POST", "/tenants/self/invitations", { body: { email: addressOf("ada") } });
    expect([again.status, Object.keys(again.body.errors)]).toEqual([400, ["email"]]);
  });

  it("creates one, however often it is done concurrently and later", async () => {
    const { id, link } = invited("eager");
    const responses = await Promise.all(Array.from({ length: 12 }, () => accept(link)));
    responses.push(await accept(link));
    for (const response of responses) {
      expect(response.status).toBe(200);
      const page = await response.text();
      expect(page).toContain("You are a member of");
      expect(page).toContain(`href="/console/sign-in?tenant=${tenant.id}"`);
    }
    expect(await membersCalled("eager")).toHaveLength(1);
    expect(await logOf(id)).toHaveLength(2);
  });

  it("needs the button: viewing the page changes nothing", async () => {
    const { link } = invited("scanned");
    for (const method of ["GET", "HEAD", "GET"]) expect((await fetch(link, { method })).status).toBe(200);
    expect(await membersCalled("scanned")).toEqual([]);
  });

  it("is rejected unless it is a form with two short names", async () => {
    const { link } = invited("careful");
    expect((await accept(link, { first_name: "x".repeat(201) })).status).toBe(400);
    expect((await accept(link, { first_name: "x".repeat(20_000) })).status).toBe(413);
    const json = await fetch(link, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
    expect(json.status).toBe(415);
    expect(await membersCalled("careful")).toEqual([]);
  });

  it("works by no link but the one that was sent", async () => {
    const { id, link } = invited("exact");
    const { link: foreign } = await invite("foreign", other);
    const text = link.split("/").at(-1) ?? "";
    const flipped = text.slice(0, 60) + (text[60] === "x" ? "y" : "x") + text.slice(61);
    const parts = text.split("_");
    const borrowed = ["inv", foreign.split("_")[1], ...parts.slice(2)].join("_");
    for (const wrong of [
      flipped,
      borrowed,
      text.slice(0, -1),
      `${text}0`,
      "inv_",
      "x",
      encodeURIComponent("../tokens"),
    ]) {
      const response = await accept(`${url}/invitations/${wrong}`);
      expect(response.status, wrong).toBe(404);
      expect(await response.text(), wrong).toContain("This invitation is not valid");
    }
    await tenant.manage("DELETE", `/tenants/self/invitations/${id}`);
    expect((await accept(link)).status).toBe(404);
    expect(await membersCalled("exact")).toEqual([]);
    expect((await accept(foreign)).status).toBe(200);
    expect(await membersCalled("foreign")).toEqual([]);
    expect(await members(other)).toHaveLength(2);
  });
});

describe("the page", () => {
  let browser: Browser;
  let page: Page;
  const requested: string[] = [];
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await sharedBrowser();
    page = await browser.newPage();
    page.on("request", (request) => requested.push(request.url()));
    page.on("console", (message) => complaints.push(message.text()));
    page.on("dialog", (dialog) => {
      complaints.push(dialog.message());
      void dialog.dismiss();
    });
  });
  afterAll(async () => {
    await browser?.close();
  });

  it("asks for a name and a click, and shows the same when it is opened again", async () => {
    const { link } = invited("grace");
    await page.goto(link);
    expect(await page.locator("p").textContent()).toBe(
      `You are invited to become a member of <script>alert("${run}")</script>, as ${addressOf("grace")}.`,
    );
    expect(await page.evaluate("getComputedStyle(document.querySelector('button')).marginTop")).toBe("24px");
    await page.getByLabel("First name").fill("Grace");
    await page.getByLabel("Last name").fill('"Amazing" Hopper');
    await page.getByRole("button", { name: "Accept" }).dblclick();
    await page.getByRole("heading", { name: "Welcome" }).waitFor();
    expect(await membersCalled("grace")).toMatchObject([
      { role: "ADMIN", user: { first_name: "Grace", last_name: '"Amazing" Hopper' } },
    ]);
    await page.goto(link);
    expect(await page.locator("h1").textContent()).toBe("Welcome");
    expect(await membersCalled("grace")).toHaveLength(1);
  });

  it("says when the link is over", async () => {
    const { id, link } = invited("late");
    await tenant.manage("DELETE", `/tenants/self/invitations/${id}`);
    const response = await page.goto(link);
    expect(response?.status()).toBe(404);
    expect(await page.locator("p").textContent()).toContain("This invitation is not valid");
    expect(await page.locator("form").count()).toBe(0);
    // The browser itself reports the status of the page.
    expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
  });

  it("makes no request to another origin, and may not", async () => {
    expect(new Set(requested.map((each) => new URL(each).origin))).toEqual(new Set([url]));
    const { link } = invited("headers");
    const { headers } = await fetch(link);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });
});

describe("the operator's log", () => {
  it("names the route and no link", () => {
    const said = readFileSync(inject("serverLog"), "utf8");
    expect(said).toContain('"route":"/invitations/:link"');
    expect(said).not.toMatch(/inv_[0-9A-Za-z]{22}_/);
    expect(said).not.toContain(`${run}@example.com`);
  });
});
