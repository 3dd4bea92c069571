// Needs: chromium
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ErrorInfoSchema, RetryInfoSchema } from "../../../clients/typescript/src/proto/google/rpc/error_details_pb.js";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { memberOf, openConsole } from "./support/console.js";

const LIST = "**/cloakroom.v1.ProxyService/ListProxies";

let browser: Browser;
let tenant: TestTenant;
let email: string;
beforeAll(async () => {
  [browser, tenant] = await Promise.all([sharedBrowser(), newTenant()]);
  email = await memberOf(tenant, "ADMIN");
});
afterAll(() => browser.close());

const open = () => openConsole(browser, tenant, email, { expected: /status of (?:429|503)/ });

function detail<D extends DescMessage>(schema: D, init: MessageInitShape<D>) {
  const value = Buffer.from(toBinary(schema, create(schema, init)))
    .toString("base64")
    .replace(/=+$/, "");
  return { type: schema.typeName, value };
}

/** Answers lists of proxies as a vault in trouble does. */
async function respondWith(page: Page, status: number, code: string, reason: string, seconds: bigint): Promise<void> {
  const details = [
    detail(ErrorInfoSchema, { reason, domain: "cloakroom", metadata: { trace_id: "trace-17" } }),
    detail(RetryInfoSchema, { retryDelay: { seconds } }),
  ];
  const body = JSON.stringify({ code, message: "Too much at once.", details });
  await page.route(LIST, (route) => route.fulfill({ status, contentType: "application/json", body }));
}

describe("a vault in trouble", () => {
  it("says when to try again if it limits a person, and a retry works", async () => {
    await using console = await open();
    const { page } = console;
    await respondWith(page, 429, "resource_exhausted", "rate_limited", 2n);
    await console.go("/proxies");
    await page.getByText("Too much at once.").waitFor();
    await page.getByText("trace-17").waitFor();
    expect(await page.getByRole("button", { name: /^Try again in [12] s$/ }).isDisabled()).toBe(true);
    await console.expectAccessible();
    await page.unroute(LIST);
    await page.getByRole("button", { name: "Try again", exact: true }).click();
    await page.getByText("There are no proxies.").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("is asked again if it is away behind a proxy that says 503", async () => {
    await using console = await open();
    const { page } = console;
    await page.route(LIST, (route) => route.fulfill({ status: 503, contentType: "text/html", body: "<h1>503</h1>" }));
    await console.go("/proxies");
    await page.getByText("The vault does not respond.").waitFor();
    await page.unroute(LIST);
    await page.getByRole("button", { name: "Try again", exact: true }).click();
    await page.getByText("There are no proxies.").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("is not said to be away while it limits the person's address", async () => {
    await using console = await open();
    const { page } = console;
    await console.go("/tokens");
    await page.getByText("There are no tokens yet.").waitFor();
    await page.route(LIST, (route) => route.fulfill({ status: 503, contentType: "text/html", body: "<h1>503</h1>" }));
    const asked = page.waitForResponse((response) => response.request().method() === "HEAD");
    await page.route("**/console", (route) => route.fulfill({ status: 429, body: "" }));
    await console.follow("/proxies");
    await asked;
    await page.getByText("The vault does not respond.").waitFor();
    expect(await page.getByText("No connection to the vault.").count()).toBe(0);
    expect(console.wrongs).toEqual([]);
  });

  it("shows that it loads while it is slow", async () => {
    await using console = await open();
    const { page } = console;
    const gate = Promise.withResolvers<void>();
    await page.route(LIST, async (route) => {
      await gate.promise;
      await route.continue();
    });
    await console.go("/proxies");
    await page.getByRole("status").getByText("Loading").waitFor({ state: "attached" });
    gate.resolve();
    await page.getByText("There are no proxies.").waitFor();
    expect(console.wrongs).toEqual([]);
  });
});

describe("a connection that is lost", () => {
  const offline = /ERR_INTERNET_DISCONNECTED|ERR_FAILED/;
  /** Proxies of the tenant, as its keys see them. */
  const proxies = async () => {
    const { body } = await tenant.manage("GET", "/proxies");
    return body.data.map(({ name }: { name: string }) => name);
  };

  it("fails a change at once, and a change that was given up is never made", async () => {
    const created = await tenant.manage("POST", "/proxies", {
      body: { name: "Kept", destination_url: "https://partner.example" },
    });
    await using console = await openConsole(browser, tenant, email, { expected: offline });
    const { page, context } = console;
    await console.go(`/proxies?id=${created.body.id}`);
    await page.getByRole("heading", { level: 1, name: "Kept" }).waitFor();
    const calls: string[] = [];
    page.on("request", (request) => calls.push(request.url().replace(/^.*\//, "")));
    await context.setOffline(true);
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText("The vault does not respond. The change may have been made all the same").waitFor();
    await page.getByText("No connection to the vault.").waitFor();
    await console.expectAccessible();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    calls.length = 0;
    await context.setOffline(false);
    await page.getByText("No connection to the vault.").waitFor({ state: "detached" });
    await console.settle();
    expect(calls).not.toContain("DeleteProxy");
    expect(await proxies()).toEqual(["Kept"]);
    await page.getByRole("button", { name: "Delete" }).click();
    expect(await dialog.getByRole("alert").count()).toBe(0);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("There are no proxies.").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("aborts a change on its way that is cancelled, and shows what the vault has", async () => {
    const created = await tenant.manage("POST", "/proxies", {
      body: { name: "Slow", destination_url: "https://partner.example" },
    });
    await using console = await openConsole(browser, tenant, email, { expected: offline });
    const { page } = console;
    await console.go(`/proxies?id=${created.body.id}`);
    const gate = Promise.withResolvers<void>();
    const DELETE = "**/cloakroom.v1.ProxyService/DeleteProxy";
    await page.route(DELETE, async (route) => {
      await gate.promise;
      await route.continue().catch(() => undefined);
    });
    const aborted = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/DeleteProxy"));
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await aborted;
    gate.resolve();
    await console.settle();
    expect(await proxies()).toEqual(["Slow"]);
    expect(await page.getByRole("alert").count()).toBe(0);
    await tenant.manage("DELETE", `/proxies/${created.body.id}`);
    expect(console.wrongs).toEqual([]);
  });

  it("shows what failed to load once it is back, without a click", async () => {
    await using console = await openConsole(browser, tenant, email, { expected: offline });
    const { page, context } = console;
    await console.go("/tokens");
    await page.getByText("There are no tokens yet.").waitFor();
    await context.setOffline(true);
    await console.follow("/tokens?query=type:card");
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await page.getByText("No connection to the vault.").waitFor();
    await context.setOffline(false);
    await page.getByText("No connection to the vault.").waitFor({ state: "detached" });
    await page.getByText("No token matches.").waitFor();
    expect(console.wrongs).toEqual([]);
  });
});

describe("every screen of a person who loses the network", () => {
  it("says so, keeps what it has, and works again without a reload", async () => {
    const paths = ["/tokens", "/access", "/applications", "/proxies", "/reactors", "/payments", "/log", "/usage"];
    await using console = await openConsole(browser, tenant, email, {
      expected: /ERR_INTERNET_DISCONNECTED|dynamically imported/,
    });
    const { page, context } = console;
    await console.go("");
    await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    for (const path of [...paths, "/members", "/settings", "/sign-ins"]) {
      await context.setOffline(true);
      await console.follow(path);
      const again = page.getByRole("main").getByRole("button", { name: "Try again" });
      await again.first().waitFor();
      await page.getByRole("navigation", { name: "Console" }).waitFor();
      await context.setOffline(false);
      await page.getByText("No connection to the vault.").waitFor({ state: "detached" });
      const broken = page.getByText("This screen could not be shown");
      if ((await broken.count()) > 0) await again.first().click();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await expect.poll(() => page.getByRole("alert").count()).toBe(0);
      await console.settle();
    }
    expect(console.wrongs).toEqual([]);
  });
});

describe("a screen whose program does not load", () => {
  it("leaves the others as they are, and loads when it is tried again", async () => {
    await using console = await openConsole(browser, tenant, email, { expected: /ERR_FAILED|dynamically imported/ });
    const { page } = console;
    await console.go("/proxies");
    await page.getByText("There are no proxies.").waitFor();
    await page.route("**/web/console/members-*.js", (route) => route.abort());
    await console.follow("/members");
    await page.getByText("This screen could not be shown").waitFor();
    await console.expectAccessible();
    await console.follow("/proxies");
    await page.getByText("There are no proxies.").waitFor();
    await console.follow("/members");
    await page.getByText("This screen could not be shown").waitFor();
    await page.unroute("**/web/console/members-*.js");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { level: 1, name: "Members" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });
});

describe("a person who does nothing", () => {
  it("is warned, stays signed in by a click, and else signs in again over the page, which keeps what was typed", async () => {
    await using console = await open();
    const { page } = console;
    await page.clock.install();
    await console.go("/proxies?new=1");
    await page.getByLabel("Name").fill("Half done");
    await page.clock.fastForward("12:30");
    const warning = page.getByRole("dialog", { name: "Are you still there?" });
    await warning.waitFor();
    await console.expectAccessible();
    await warning.getByRole("button", { name: "Stay signed in" }).click();
    await warning.waitFor({ state: "detached" });
    await page.clock.fastForward("14:30");
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Half done");
    expect(console.wrongs).toEqual([]);
  });
});
