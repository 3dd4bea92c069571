// Needs: chromium
import { expect, it } from "vitest";
import { AgreeingTenant, ClockedServer } from "../../e2e/tokens/support/agreeing-people.js";
import { sharedBrowser } from "../../support/browser.js";
import { newMember } from "../../support/member.js";
import { newTenant } from "../../support/tenant.js";
import { operatorLink } from "../../support/test-browser.js";
import { namedAddress, openBrowser, openOwner, openWithAuthenticator } from "./support/console.js";

const RULE = { priority: 1, container: "/pci/", transform: "reveal", permissions: ["token:export"] };

it("an export is requested with an application, a container and a reason, and a new member learns how long to wait", async () => {
  await using browser = await sharedBrowser();
  const tenant = await newTenant();
  await tenant.application({ type: "private", rules: [RULE] });
  await tenant.application({ type: "private", permissions: ["token:create"] });
  await using console = await openOwner(browser, tenant, { expected: /status of 40[0-9]/ });
  const { page } = console;
  await console.go("/exports");
  await page.getByText("No request or approval is open.").waitFor();
  await page.getByRole("button", { name: "Request an export" }).click();
  const dialog = page.getByRole("dialog", { name: "Request an export" });
  await expect.poll(() => dialog.getByLabel("Application").locator("option").count()).toBe(2);
  await dialog.getByLabel("Application").selectOption({ index: 1 });
  await dialog.getByLabel("Container").fill("/pci/");
  await dialog.getByLabel("Why").fill("Moving out");
  await dialog.getByRole("button", { name: "Request", exact: true }).click();
  await dialog.getByRole("button", { name: "Add a passkey" }).click();
  await dialog.getByText("Proved for five minutes").waitFor();
  await console.expectAccessible();
  await dialog.getByRole("button", { name: "Request", exact: true }).click();
  await dialog.getByText("24 hours after your membership began").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(console.wrongs).toEqual([]);
});

it("a request shows who asks for what and what the application sees, and another person approves or refuses it", async () => {
  await using browser = await sharedBrowser();
  await using server = await ClockedServer.start();
  const people = await AgreeingTenant.create(server);
  const { tenant, owner } = people;
  const [colleague] = await people.settled(1);
  const { url, environment } = server.here;
  const exporter = await tenant.application({ type: "private", rules: [RULE] });
  const request = (reason: string) =>
    owner.call("TokenExportService/RequestTokenExport", { applicationId: exporter.id, reason, type: "card" });
  expect((await request("Moving out")).status).toBe(200);

  const email = await newMember(tenant, "ADMIN", environment);
  await using console = await openBrowser(browser, { origin: url, expected: /status of 40[13]/ });
  const { page } = console;
  await page.goto(`${url}/console/sign-in#${await operatorLink(tenant.id, email, environment, server.clock)}`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Home" }).waitFor();
  await page.goto(`${url}/console/exports`);
  await page.getByText("Moving out").waitFor();
  await page.getByText("of the type card").waitFor();
  await page.getByText("in the clear").waitFor();
  await page.getByText("owner@example.com").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  const dialog = page.getByRole("dialog", { name: "Approve this export?" });
  await dialog.getByText("What has left the vault cannot be taken").waitFor();
  await console.expectAccessible();
  await dialog.getByRole("button", { name: "Approve" }).click();
  await dialog.getByText("needs a second factor").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();

  const { body } = await owner.call("TokenExportService/ListTokenExports");
  const approved = await colleague?.call("TokenExportService/ApproveTokenExport", { id: body.data[0].id });
  expect(approved?.status).toBe(200);
  await page.reload();
  await page.getByText("Counts until").waitFor();
  await page.getByText(colleague?.email ?? "").waitFor();
  expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  await console.expectAccessible();
  await page.getByRole("button", { name: "End" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await page.getByText("No request or approval is open.").waitFor();

  expect((await request("Again")).status).toBe(200);
  await page.reload();
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Refuse" }).click();
  await page.getByText("No request or approval is open.").waitFor();
  expect((await owner.call("TokenExportService/ListTokenExports")).body.data ?? []).toEqual([]);
  expect(console.wrongs).toEqual([]);
});

it("a second person approves an export in the browser, and the application then exports what was approved", async () => {
  await using browser = await sharedBrowser();
  await using server = await ClockedServer.start();
  const { tenant, owner } = await AgreeingTenant.create(server);
  const { environment } = server.here;
  const backEnd = await tenant.backEnd();
  for (const container of ["/pci/", "/other/"]) {
    await backEnd("POST", "/tokens", { body: { type: "token", data: `in ${container}`, containers: [container] } });
  }
  const exporter = await tenant.application({ type: "private", rules: [{ ...RULE, container: "/" }] });
  const origin = namedAddress(server.here.url);
  await using console = await openWithAuthenticator(browser, { origin, expected: /status of 40[0-9]/ });
  const { page } = console;
  const email = await newMember(tenant, "ADMIN", environment);
  const takeLink = async () => {
    await page.goto("about:blank");
    await page.goto(`${origin}/console/sign-in#${await operatorLink(tenant.id, email, environment, server.clock)}`);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  await takeLink();
  await page.getByRole("heading", { name: "Home" }).waitFor();
  await page.goto(`${origin}/console/sign-ins`);
  await page.getByLabel("Name of a new passkey").fill("Laptop");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("cell", { name: "Laptop" }).waitFor();

  server.pass(25);
  await owner.call("TenantService/UpdateTenant", { name: "T", settings: { require_export_approval: "true" } });
  const asked = { applicationId: exporter.id, reason: "Moving out", container: "/pci/" };
  expect((await owner.call("TokenExportService/RequestTokenExport", asked)).status).toBe(200);
  const exported = async () => {
    const { status, body } = await exporter("POST", "/tokens/export", { body: { container: "/pci/" } });
    return [status, body.data?.map(({ data }: { data: unknown }) => data)];
  };
  expect((await exported())[0]).toBe(403);

  await takeLink();
  await page.getByRole("button", { name: "Use your passkey" }).click();
  await page.getByRole("heading", { name: "Home" }).waitFor();
  await page.getByRole("link", { name: "Exports" }).click();
  await page.getByText("Moving out").waitFor();
  await page.getByText("below /pci/").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  const dialog = page.getByRole("dialog", { name: "Approve this export?" });
  await dialog.getByRole("button", { name: "Approve" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("Counts until").waitFor();
  await page.getByText(email).first().waitFor();
  await console.expectAccessible();
  expect(await exported()).toEqual([200, ["in /pci/"]]);

  await page.getByRole("button", { name: "End" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await page.getByText("No request or approval is open.").waitFor();
  expect((await exported())[0]).toBe(403);
  expect(console.wrongs).toEqual([]);
});
