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
