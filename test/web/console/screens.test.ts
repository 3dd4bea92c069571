// Waits: 60 s
// Needs: chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { storedContainer } from "../../../src/access/container.js";
import { sharedBrowser } from "../../support/browser.js";
import { newMember } from "../../support/member.js";
import { restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { withoutIds } from "../../support/without-ids.js";
import { memberOf, type OpenConsole, openConsole, ROLES, type RoleName } from "./support/console.js";

const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" };
/** Ids that are hard for addresses and the eye. */
const HARD_IDS = ["...", "order:1;2", '"quoted"', "it's $1 @ 2!", "שלום", "😀😀😀", "a~b", `long-${"x".repeat(390)}`];

let browser: Browser;
let tenant: TestTenant;
let cardId: string;
const emails = new Map<RoleName, string>();

beforeAll(async () => {
  [browser, tenant] = await Promise.all([sharedBrowser(), newTenant()]);
  for (const role of ROLES) emails.set(role, await memberOf(tenant, role));
  const backEnd = await tenant.backEnd();
  const { body } = await backEnd("POST", "/tokens", {
    body: { type: "card", data: CARD, containers: ["/pci/high/"], metadata: { "order <1>": "77" } },
  });
  cardId = String(body.id);
  for (const id of HARD_IDS) {
    const { status } = await backEnd("POST", "/tokens", { body: { id, type: "token", data: "x" } });
    expect([id, status]).toEqual([id, 201]);
  }
});
afterAll(() => browser.close());

const open = (role: RoleName, options = {}) => openConsole(browser, tenant, emails.get(role) ?? "", options);

const PLACES = [
  ["/", "Home"],
  ["/tokens", "Tokens"],
  ["/access", "Who can see this?"],
  ["/imports", "Imports"],
  ["/exports", "Exports"],
  ["/applications", "Applications"],
  ["/sessions", "Sessions"],
  ["/proxies", "Proxies"],
  ["/reactors", "Reactors"],
  ["/formulas", "Formulas"],
  ["/webhooks", "Webhooks"],
  ["/payments", "Payments"],
  ["/connections", "Connections"],
  ["/log", "Log"],
  ["/usage", "Usage"],
  ["/members", "Members"],
  ["/settings", "Settings"],
  ["/sign-ins", "Your sign-ins"],
] as const;
const HIDDEN: Readonly<Partial<Record<RoleName, readonly string[]>>> = {
  AUDITOR: ["Imports"],
  DEVELOPER: ["Tokens", "Imports", "Exports", "Log", "Payments", "Connections", "Members", "Usage"],
};

describe.each(ROLES)("for %s", (role) => {
  const hidden = HIDDEN[role] ?? [];
  let console: OpenConsole;
  beforeAll(async () => {
    console = await open(role);
  });
  afterAll(() => console[Symbol.asyncDispose]());

  it("the places are those that the role can use", async () => {
    await console.go("");
    const places = console.page.getByRole("navigation", { name: "Console" });
    await places.waitFor();
    const names = await places.getByRole("link").allTextContents();
    const offered = PLACES.map(([, name]) => name).filter((name) => name !== "Your sign-ins");
    expect(names).toEqual(offered.filter((name) => !hidden.includes(name)));
  });

  it.each(PLACES)("%s works, accessibly, within its policy, or says which right is missing", async (path, name) => {
    const { page, wrongs } = console;
    // Each place is loaded by its address once, and otherwise reached as by a link.
    await (role === "OWNER" ? console.go(path) : console.follow(path));
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await console.settle();
    if (hidden.includes(name)) await page.getByText(`Your role ${role} may not call`).first().waitFor();
    await console.expectAccessible();
    expect(wrongs).toEqual([]);
  });
});

describe.each(["light", "dark"] as const)("on a phone, %s", (scheme) => {
  let console: OpenConsole;
  beforeAll(async () => {
    console = await open("OWNER", { width: 320, scheme });
  });
  afterAll(() => console[Symbol.asyncDispose]());

  it.each(PLACES)("%s does not scroll sideways", async (path, name) => {
    const { page, wrongs } = console;
    await console.follow(path);
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await console.settle();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
    await console.expectAccessible();
    expect(wrongs).toEqual([]);
  });

  it("a token's page does not scroll sideways, and the menu leads to other places", async () => {
    const { page } = console;
    await console.go(`/tokens?id=${cardId}`);
    await page.getByText("Card created").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
    await console.expectAccessible();
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  });
});

describe("settings", () => {
  it("ask why values may be read without a reason from now on, and the log has the reason", async () => {
    await using console = await open("OWNER");
    const { page } = console;
    await console.go("/settings");
    const asks = page.getByLabel("Reading a value in the clear needs a reason");
    const save = async () => {
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Saved", { exact: true }).waitFor();
    };
    await asks.check();
    expect(await page.getByLabel("Reason", { exact: true }).count()).toBe(0);
    await save();
    await asks.uncheck();
    await page.getByLabel("Reason", { exact: true }).fill("The assessor's visit is over");
    await console.expectAccessible();
    await save();
    expect(console.wrongs).toEqual([]);
    const { body } = await tenant.manage(
      "GET",
      `/logs?entity_type=tenant&entity_id=${tenant.id}&operation=update&size=1`,
    );
    expect(body.data[0]).toMatchObject({
      message: "Tenant updated: require_reveal_reason off",
      reason: "The assessor's visit is over",
    });
  });
});

describe("tokens", () => {
  it("are shown masked, with who can see them and their life", async () => {
    await using console = await open("OWNER");
    const { page } = console;
    await console.go("/tokens?container=%2Fpci%2F");
    await page.getByRole("link", { name: cardId }).click();
    await page.getByText("XXXXXXXXXXXX4242").waitFor();
    await page.getByText("order <1>").waitFor();
    await page.getByText("Rule 1 on / says reveal.").first().waitFor();
    await page.getByText("Card created").waitFor();
    await console.expectAccessible();
    const content = await page.content();
    expect(content).not.toContain(CARD.number);
    expect(content).not.toMatch(/cvc.{0,20}123/);
  });

  it("are found by ids of unusual characters, also after a reload", async () => {
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go("/tokens");
    for (const id of HARD_IDS) {
      await page.getByLabel("Search").fill(id);
      await page.getByRole("button", { name: "Search" }).click();
      await page.getByText("Masked value", { exact: true }).waitFor();
      expect(new URL(page.url()).searchParams.get("id")).toBe(id);
      await page.reload();
      await page.getByText("Masked value", { exact: true }).waitFor();
      await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Tokens" }).click();
      await page.getByRole("table").waitFor();
    }
    expect(console.wrongs).toEqual([]);
  });

  it("have no value at all for an AUDITOR, and no button to delete them", async () => {
    await using console = await open("AUDITOR");
    const { page } = console;
    await console.go(`/tokens?id=${cardId}`);
    await page.getByText("Your role sees no value").waitFor();
    expect(await page.getByRole("button", { name: "Delete" }).count()).toBe(0);
    // A word of its own: names of members and of traces end in hexadecimal digits, which are random.
    expect(withoutIds(await page.content())).not.toMatch(/\b[\dX]*4242\b/);
  });

  it("are deleted after a question, by keyboard, and the focus returns if it is denied", async () => {
    const backEnd = await tenant.backEnd();
    await backEnd("POST", "/tokens", { body: { id: "to-delete", type: "token", data: "x" } });
    await using console = await open("OWNER");
    const { page } = console;
    await console.go("/tokens?id=to-delete");
    const button = page.getByRole("button", { name: "Delete" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Delete this token?" }).waitFor();
    await console.expectAccessible();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => button.evaluate((element) => element.matches(":focus"))).toBe(true);
    await button.click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
    expect((await backEnd("GET", "/tokens/to-delete")).status).toBe(404);
  });
});

describe("applications", () => {
  it("are made with rules that are tried first, and their key is shown once and works", async () => {
    const email = await newMember(tenant, "DEVELOPER", undefined, [storedContainer("/shop/")]);
    await using console = await openConsole(browser, tenant, email);
    const { page } = console;
    await console.go("/applications?new=1");
    await page.getByLabel("Name").fill("Made in the console");
    await page.getByLabel("Container", { exact: true }).fill("/shop/");
    await page.getByLabel("token:read").check();
    await page.getByRole("button", { name: "Try these rights" }).click();
    await page.getByText("No rule gives token:read here.").waitFor();
    await page.getByLabel("Container, or the id of a token").fill("/shop/orders/");
    await page.getByRole("button", { name: "Try these rights" }).click();
    await page.getByText("Rule 1 on /shop/ says mask.").waitFor();
    await console.expectAccessible();
    await page.getByRole("button", { name: "Create application and key" }).click();
    await page.getByText("Copy the key now.").waitFor();
    const key = (await page.locator("[data-secret]").textContent())?.trim() ?? "";
    const { status } = await tenant.manage("POST", "/tokens", {
      ...{ key, body: { type: "token", data: "x", containers: ["/shop/"] } },
    });
    expect(status).toBe(201);
    expect(page.url()).not.toContain(key);
    await page.getByRole("link", { name: "Go to the application" }).click();
    await page.getByRole("table", { name: "" }).first().waitFor();
    expect(await page.content()).not.toContain(key);
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("There is no key").waitFor();
    const after = await tenant.manage("POST", "/tokens", { key, body: { type: "token", data: "x" } });
    expect(after.status).toBe(401);
    expect(console.wrongs).toEqual([]);
  });

  it("have templates for hosted fields, and say what page requests give away", async () => {
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go("/applications?new=1");
    await page.getByLabel("Name").fill("Hosted fields");
    await page.getByLabel("token:read").check();
    await page.getByLabel("Type").selectOption("public");
    await page.getByLabel("Allowed origins").fill("https://shop.example.com");
    await page.getByLabel("Templates").fill("[{");
    await page.getByText("must be a JSON list of templates").waitFor();
    const template = { name: "receipt", mask: "{{ data.number | reveal_last: 4 }}" };
    await page.getByLabel("Templates").fill(JSON.stringify([template]));
    await page.getByLabel("Pages may call the API with the key themselves").check();
    await page.getByText("read what your server authorizes a session for").waitFor();
    await console.expectAccessible();
    await page.getByRole("button", { name: "Create application and key" }).click();
    await page.getByRole("link", { name: "Go to the application" }).click();
    await page.getByText("Allowed: pages may call the API with the key themselves").waitFor();
    await page.getByRole("button", { name: "Edit name and rights" }).click();
    await page.getByLabel("Pages may call the API with the key themselves").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Edit name and rights").waitFor();
    const id = new URL(page.url()).searchParams.get("id");
    const { body } = await tenant.manage("GET", `/applications/${id}`);
    expect(body).toMatchObject({ templates: [template], allowed_origins: ["https://shop.example.com"] });
    expect(body.allow_page_requests ?? false).toBe(false);
    expect(console.wrongs).toEqual([]);
  });

  it("show a DEVELOPER the keys of what others created, and no button to revoke one", async () => {
    const { body } = await tenant.manage("POST", "/applications", {
      body: { name: "Of another", type: "private", permissions: ["token:create"] },
    });
    await using console = await open("DEVELOPER");
    const { page } = console;
    await console.go(`/applications?id=${body.id}`);
    await page.getByRole("columnheader", { name: "By" }).waitFor();
    expect(await page.getByText("Revoke").count()).toBe(0);
    await console.settle();
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });

  it("get keys with a name, an owner and an end, whose rows are one click away", async () => {
    const used = await tenant.application({ type: "private", permissions: ["token:create"] });
    expect((await used("POST", "/tokens", { body: { type: "token", data: "x" } })).status).toBe(201);
    await using console = await open("OWNER", { expected: /status of 400/ });
    const { page } = console;
    await console.go(`/applications?id=${used.id}`);
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog", { name: "New key" });
    await dialog.getByLabel("Name").fill("production 2");
    await dialog.getByLabel("Owner").fill("Payments team");
    await dialog.getByLabel("Expires (your time)").fill("2020-01-01T00:00");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByText("must be an ISO 8601 date or date-time in the future").waitFor();
    await console.expectAccessible();
    await dialog.getByLabel("Expires (your time)").fill("2040-01-01T00:00");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Copy the key now.").waitFor();
    const row = page.getByRole("row", { name: /production 2/ });
    await row.getByText("Payments team").waitFor();
    await row.getByText("Dec 2039").or(row.getByText("Jan 2040")).waitFor();
    await console.expectAccessible();
    await page.getByRole("link", { name: "Its rows" }).last().click();
    await page.getByRole("heading", { level: 1, name: "Log" }).waitFor();
    await page.getByRole("cell", { name: "Token created" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("are not made twice by a key's form that lost its connection, and say so", async () => {
    const { id } = await tenant.application({ type: "private", permissions: ["token:create"] });
    await using console = await open("OWNER", { expected: /ERR_INTERNET_DISCONNECTED|ERR_FAILED/ });
    const { page, context } = console;
    await console.go(`/applications?id=${id}`);
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog", { name: "New key" });
    await context.setOffline(true);
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByText("The vault does not respond.").waitFor();
    await console.expectAccessible();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await context.setOffline(false);
    await console.settle();
    expect((await tenant.manage("GET", `/applications/${id}/keys`)).body.pagination.total_items).toBe(1);
    expect(console.wrongs).toEqual([]);
  });

  it("are found by name, sorted and filtered, all in the address", async () => {
    const own = await newTenant();
    for (const name of ["Zebra", "apple 10", "apple 9", "<b>שלום</b> 😀"]) {
      const body = { name, type: name === "Zebra" ? "public" : "private", permissions: ["token:create"] };
      expect((await own.manage("POST", "/applications", { body })).status).toBe(201);
    }
    await using console = await openConsole(browser, own, await memberOf(own, "AUDITOR"));
    const { page } = console;
    await console.go("/applications");
    const names = () => page.getByRole("region", { name: "Table: Applications" }).getByRole("link").allTextContents();
    await page.getByLabel("Order").selectOption("name");
    await expect
      .poll(async () => (await names()).filter((name) => name.startsWith("apple")))
      .toEqual(["apple 9", "apple 10"]);
    expect(new URL(page.url()).searchParams.get("sort")).toBe("name");
    await page.getByLabel("Name").fill("APPLE");
    await page.getByRole("button", { name: "Search" }).click();
    await expect.poll(names).toEqual(["apple 9", "apple 10"]);
    await console.expectAccessible();
    await page.reload();
    await expect.poll(names).toEqual(["apple 9", "apple 10"]);
    await page.getByLabel("Type").selectOption("public");
    await page.getByText("No application matches.").waitFor();
    await console.go("/applications?sort=size&type=none&name=zeb");
    await expect.poll(names).toEqual(["Zebra"]);
    expect(console.wrongs).toEqual([]);
  });

  it("are refused with the reason if they would reveal values", async () => {
    await using console = await open("OWNER", { expected: /status of 403/ });
    const { page } = console;
    await console.go("/applications?new=1");
    await page.getByLabel("Name").fill("Too much");
    await page.getByLabel("Shows").selectOption("reveal");
    await page.getByRole("button", { name: "Create application and key" }).click();
    await page.getByText("needs a second factor").waitFor();
    await page.getByRole("button", { name: "Add a passkey" }).waitFor();
    await console.expectAccessible();
  });
});

describe("members", () => {
  it("are invited with a role, and the invitation is withdrawn", async () => {
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go("/members");
    const email = `invited-${tenant.id.slice(-12)}@example.com`;
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("Role", { exact: true }).selectOption("AUDITOR");
    await page.getByRole("button", { name: "Invite" }).click();
    await page.getByRole("cell", { name: email }).waitFor();
    await console.expectAccessible();
    await page.getByRole("button", { name: "Withdraw" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
    await page.getByRole("cell", { name: email }).waitFor({ state: "detached" });
    expect(console.wrongs).toEqual([]);
  });

  it("change their role after a question, and the button keeps the focus", async () => {
    const email = await newMember(tenant, "DEVELOPER");
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go("/members");
    const row = page.getByRole("row", { name: email });
    const button = page.getByRole("button", { name: `Change the role of ${email}` });
    await button.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Assigned containers").waitFor();
    await dialog.getByLabel("New role").selectOption("AUDITOR");
    await console.expectAccessible();
    await dialog.getByRole("button", { name: "Change" }).click();
    await dialog.waitFor({ state: "detached" });
    await row.getByText("AUDITOR", { exact: true }).waitFor();
    expect(await button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    expect(console.wrongs).toEqual([]);
  });
});

describe("an application with a member's address as its name", () => {
  it("differs from the member wherever it has acted", async () => {
    const email = emails.get("OWNER") ?? "";
    const { body: made } = await tenant.manage("POST", "/applications", {
      body: { name: email, type: "private", permissions: ["token:create", "token:read"] },
    });
    const impostor = restClient(tenant.url, String(made.key));
    const { body } = await impostor("POST", "/tokens", { body: { type: "token", data: "x" } });
    await using console = await open("OWNER");
    const { page } = console;
    await console.go(`/tokens?id=${body.id}`);
    await page.getByText(`by application ${email}`).waitFor();
    await console.go(`/log?${new URLSearchParams({ actor_id: String(made.id) })}`);
    await page
      .getByRole("cell", { name: `${email} application` })
      .first()
      .waitFor();
    expect(console.wrongs).toEqual([]);
  });
});

describe("the log", () => {
  it("is filtered by entity and time in the person's zone, and exported", async () => {
    await using console = await open("AUDITOR");
    const { page } = console;
    await console.go(`/log?entity_type=token&entity_id=${cardId}`);
    await page.getByText("Card created").waitFor();
    await page.getByLabel("Before (your time)").fill("2020-01-01T00:00");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByText("There are no rows.").waitFor();
    expect(new URL(page.url()).searchParams.get("to")).toBe("2020-01-01T00:00");
    await page.getByLabel("Before (your time)").fill("");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    const time = page.getByRole("cell").locator("time").first();
    await time.waitFor();
    expect(await time.getAttribute("title")).toMatch(/ UTC \(shown in Asia\/Kat[h]?mandu\)$/);
    await page.getByRole("cell").locator("a.id").first().click();
    await expect.poll(() => new URL(page.url()).searchParams.get("trace_id")).toMatch(/^[0-9a-f-]{32,36}$/);
    const steps = page.getByRole("list", { name: "What happened" }).getByRole("listitem");
    await steps.first().getByText("0 ms").waitFor();
    await steps.locator(".pill", { hasText: "allowed" }).first().waitFor();
    await console.expectAccessible();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^log-.*\.csv$/);
    expect(console.wrongs).toEqual([]);
  });
});

describe("a call that fails", () => {
  it.each([
    ["503", "The vault does not respond.", { status: 503, body: "" }],
    ["no connection", "The vault does not respond.", undefined],
  ])("with %s shows an error with a retry that works", async (_name, text, response) => {
    await using console = await open("OWNER", { expected: /Failed to load resource/ });
    const { page } = console;
    const pattern = `${inject("serverUrl")}/cloakroom.v1.TenantService/GetUsageReport`;
    await page.route(pattern, (route) => (response ? route.fulfill(response) : route.abort()));
    await console.go("/usage");
    await page.getByText(text).waitFor();
    await console.expectAccessible();
    await page.unroute(pattern);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Active this month").waitFor();
    expect(console.wrongs).toEqual([]);
  });
});
