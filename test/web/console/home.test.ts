// Needs: chromium
import { create, toBinary } from "@bufbuild/protobuf";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ActivitySchema } from "../../../clients/typescript/src/proto/cloakroom/v1/tenants_pb.js";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { memberOf, openConsole, type RoleName } from "./support/console.js";

const ACTIVITY = "**/cloakroom.v1.TenantService/GetActivity";
const HEALTH = "**/cloakroom.v1.TenantService/GetHealth";

let browser: Browser;
let tenant: TestTenant;
beforeAll(async () => {
  [browser, tenant] = await Promise.all([sharedBrowser(), newTenant()]);
  const reader = await tenant.application({
    type: "private",
    rules: [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:create", "token:read"] }],
  });
  const { body } = await reader("POST", "/tokens", { body: { type: "token", data: "x" } });
  for (let read = 0; read < 3; read += 1) await reader("GET", `/tokens/${body.id}`);
  const other = await tenant.application({
    type: "private",
    rules: [{ priority: 1, container: "/none/", transform: "mask", permissions: ["token:read"] }],
  });
  expect((await other("GET", `/tokens/${body.id}`)).status).toBe(403);
});
afterAll(() => browser.close());

const open = async (role: RoleName, options = {}) =>
  openConsole(browser, tenant, await memberOf(tenant, role), options);

describe("the home page", () => {
  it("shows what happened in the last day, as the server counts it, and leads to the rows", async () => {
    await using console = await open("OWNER");
    const { page } = console;
    await console.go("/");
    const metric = (name: RegExp) => page.getByRole("link", { name });
    await metric(/^Values in the clear 3$/).waitFor();
    await metric(/^Denied 1$/).waitFor();
    const readers = page.getByRole("region", { name: "Most values in the clear" });
    await readers.getByRole("listitem").first().waitFor();
    expect(await readers.getByRole("listitem").allTextContents()).toHaveLength(1);
    await page.getByRole("region", { name: "Denied" }).getByText("Token refused").waitFor();
    await page.getByRole("region", { name: "Health" }).getByText("Log sealed").waitFor();
    await console.settle();
    await console.expectAccessible();
    await readers.getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "Log" }).waitFor();
    expect(new URL(page.url()).searchParams.get("transform")).toBe("reveal");
    await page.getByText("Token retrieved").first().waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("has a chart for the keyboard, and a table with the same numbers", async () => {
    await using console = await open("AUDITOR");
    const { page } = console;
    await console.go("/");
    const chart = page.getByRole("slider", { name: "Operations by what the caller saw, by hour" });
    await chart.focus();
    await expect.poll(() => chart.getAttribute("aria-valuetext")).toMatch(/3 in the clear, .*1 denied/);
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => chart.getAttribute("aria-valuetext")).toMatch(/ 0 in the clear/);
    await page.getByText("As a table").click();
    const table = page.getByRole("region", { name: "Table: Operations by what the caller saw" });
    await expect.poll(() => table.getByRole("row").count()).toBe(25);
    await console.expectAccessible();
    await page.getByRole("button", { name: "30 days" }).click();
    await page.getByRole("slider", { name: "Operations by what the caller saw, by day" }).waitFor();
    await page.getByText("As a table").click();
    await expect.poll(() => table.getByRole("row").count()).toBe(31);
    expect(new URL(page.url()).searchParams.get("period")).toBe("30d");
    await page.reload();
    await page.getByRole("button", { name: "30 days", pressed: true }).waitFor();
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });

  it("asks a DEVELOPER's vault for nothing that the role may not see", async () => {
    await using console = await open("DEVELOPER");
    const { page } = console;
    const calls: string[] = [];
    page.on("request", (request) => calls.push(request.url().replace(/^.*\//, "")));
    await console.go("/");
    await page.getByRole("heading", { name: "Make an application" }).waitFor();
    await console.settle();
    expect(calls).not.toContain("GetActivity");
    expect(calls).not.toContain("GetHealth");
    expect(console.wrongs).toEqual([]);
  });

  it("shows each part by itself while another fails, and loads it again", async () => {
    await using console = await open("OWNER", { expected: /status of 503/ });
    const { page } = console;
    await page.route(HEALTH, (route) => route.fulfill({ status: 503, body: "" }));
    await console.go("/");
    const health = page.getByRole("region", { name: "Health" });
    await health.getByText("The vault does not respond.").waitFor();
    await page.getByRole("slider").waitFor();
    await console.expectAccessible();
    await page.unroute(HEALTH);
    await health.getByRole("button", { name: "Try again" }).click();
    await health.getByText("Log sealed").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("keeps its numbers while the connection is lost, and says so", async () => {
    await using console = await open("OWNER", { expected: /ERR_INTERNET_DISCONNECTED|ERR_FAILED/ });
    const { page, context } = console;
    await console.go("/");
    await page.getByRole("slider").waitFor();
    await console.settle();
    await context.setOffline(true);
    await page.getByRole("button", { name: "7 days" }).click();
    const chart = page.getByRole("region", { name: /^Operations by what the caller saw/ });
    await chart.getByText("The vault does not respond.").waitFor();
    await console.expectAccessible();
    await context.setOffline(false);
    await page.getByRole("slider").waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("reads a response without rows, and one of a vault that has sealed nothing", async () => {
    await using console = await open("OWNER");
    const { page } = console;
    const body = Buffer.from(toBinary(ActivitySchema, create(ActivitySchema, {})));
    await page.route(ACTIVITY, (route) => route.fulfill({ contentType: "application/proto", body }));
    await console.go("/");
    await page.getByText("Nothing happened in this period.").waitFor();
    await page.getByText("Nobody saw a value in the clear.").waitFor();
    await console.settle();
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });
});
