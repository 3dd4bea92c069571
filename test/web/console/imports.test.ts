// Needs: chromium
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type OpenConsole, openOwner } from "./support/console.js";

let browser: Browser;
beforeAll(async () => {
  browser = await sharedBrowser();
});
afterAll(() => browser.close());

const NUMBER = "4242424242424242";
const fileOf = (name: string, lines: readonly string[]) => ({
  ...{ name, mimeType: "text/plain", buffer: Buffer.from(`${lines.join("\n")}\n`) },
});

async function open(tenant: TestTenant): Promise<OpenConsole> {
  const console = await openOwner(browser, tenant, {
    expected: /status of 4\d\d|ERR_(?:INTERNET_DISCONNECTED|FAILED|ABORTED)/,
  });
  await console.go("/imports");
  return console;
}

/** Begins an import, which needs a second factor. */
async function prove({ page }: OpenConsole) {
  await page.getByRole("button", { name: "Import the file" }).click();
  await page.getByRole("button", { name: /passkey/ }).click();
  await page.getByText("Proved for five minutes").waitFor();
  await page.getByRole("button", { name: "Go on" }).click();
}

const countOf = async (tenant: TestTenant) => {
  const { body } = await (await tenant.backEnd())("GET", "/tokens?size=1");
  return body.pagination.total_items;
};

describe("an import", () => {
  it("shows its first rows masked, asks for a second factor, stores each row once and says what failed", async () => {
    const tenant = await newTenant();
    await using console = await open(tenant);
    const { page } = console;
    const rows = [
      "id,card.id,card.number,card.exp_month,card.exp_year",
      `cus_1,card_1,${NUMBER},12,2031`,
      "cus_2,card_2,4242424242424241,12,2031",
      `cus_3,card_3,${NUMBER}`,
      ...Array.from({ length: 118 }, (_, index) => `cus_${index + 4},card_${index + 4},${NUMBER},12,2031`),
    ];
    await page.getByLabel("File").setInputFiles(fileOf("stripe.csv", rows));
    await page.getByText("type must be given").first().waitFor();
    await page.getByLabel("Layout").selectOption("stripe");
    await page.getByText("data.number must be a card number with a valid check digit").waitFor();
    await page.getByText("The row has 3 columns, and the header has 5.").waitFor();
    expect(await page.content()).not.toContain(NUMBER);
    await console.expectAccessible();
    await prove(console);
    await page.getByRole("heading", { name: "Imported stripe.csv" }).waitFor();
    await page.getByRole("row", { name: /data\.number/ }).waitFor();
    await page.getByRole("row", { name: /3 columns/ }).waitFor();
    await console.expectAccessible();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save the results" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("stripe.csv.results.ndjson");
    const lines = readFileSync(await download.path(), "utf8")
      .trimEnd()
      .split("\n");
    expect(lines.length).toBe(121);
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ position: 2, line: 3, error: { field: "data.number" } });
    expect(lines.join("")).not.toContain(NUMBER);
    expect(await countOf(tenant)).toBe(119);
    const { body } = await tenant.manage("GET", "/logs?entity_type=token&entity_id=*&operation=import&size=10");
    expect(body.data.map(({ actor_type: type }: { actor_type: string }) => type)).toEqual(["user", "user"]);
    expect(console.wrongs).toEqual([]);
  });

  it("stops when it loses its connection, and goes on without storing a row twice, also with the file chosen again", async () => {
    const tenant = await newTenant();
    await using console = await open(tenant);
    const { page } = console;
    const rows = Array.from({ length: 250 }, (_, index) => `{"type":"token","data":"value ${index}"}`);
    // One on a disk keeps its time when it is chosen again.
    const file = join(mkdtempSync(join(tmpdir(), "cloakroom-import-")), "values.ndjson");
    writeFileSync(file, `${rows.join("\n")}\n`);
    await page.getByLabel("File").setInputFiles(file);
    let calls = 0;
    await page.route("**/cloakroom.v1.TokenService/ImportTokens", async (route) => {
      calls += 1;
      // The third batch is stored, and its response is lost.
      if (calls !== 3) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await prove(console);
    await page.getByText("The vault does not respond.").waitFor();
    await console.expectAccessible();
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("heading", { name: "Imported values.ndjson" }).waitFor();
    expect(await countOf(tenant)).toBe(250);
    await page.getByRole("button", { name: "Another file" }).click();
    await page.getByLabel("File").setInputFiles(file);
    await page.getByRole("button", { name: "Import the file" }).click();
    await page.getByRole("heading", { name: "Imported values.ndjson" }).waitFor();
    expect(await countOf(tenant)).toBe(250);
    await page.getByRole("button", { name: "Import it again" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Import it again" }).click();
    await expect.poll(() => countOf(tenant)).toBe(500);
    await page.getByRole("heading", { name: "Imported values.ndjson" }).waitFor();
    await page.getByRole("button", { name: "Another file" }).click();
    expect(await page.getByRole("button", { name: "Import the file" }).count()).toBe(0);
    rmSync(dirname(file), { recursive: true });
    expect(console.wrongs).toEqual([]);
  });

  it("asks before its page is left, in words about an import, and goes on if its person stays", async () => {
    const tenant = await newTenant();
    await using console = await open(tenant);
    const { page } = console;
    const buffer = Buffer.from('{"type":"token","data":"a value"}\n');
    await page.getByLabel("File").setInputFiles({ name: "values.ndjson", mimeType: "text/plain", buffer });
    const held = Promise.withResolvers<void>();
    let calls = 0;
    await page.route("**/cloakroom.v1.TokenService/ImportTokens", async (route) => {
      calls += 1;
      // The first is refused without a second factor.
      if (calls > 1) await held.promise;
      await route.continue();
    });
    await prove(console);
    await page.getByRole("link", { name: "Members" }).click();
    const question = page.getByRole("dialog", { name: "Stop the import?" });
    await question.getByText("Rows that are stored stay stored").waitFor();
    await console.expectAccessible();
    await question.getByRole("button", { name: "Stay" }).click();
    held.resolve();
    await page.getByRole("heading", { name: "Imported values.ndjson" }).waitFor();
    expect(await countOf(tenant)).toBe(1);
    await page.getByRole("link", { name: "Members" }).click();
    await page.getByRole("heading", { level: 1, name: "Members" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("goes on after rows that a hostile file nests too deep, and shows what else its rows set", async () => {
    const tenant = await newTenant();
    await using console = await open(tenant);
    const { page } = console;
    const rows = [
      `{"type":"token","data":${"[".repeat(120)}${"]".repeat(120)}}`,
      `{"type":"token","data":"x","mask":"{{ data }}","metadata":{"4242.4242.4242.4242":"y"}}`,
      `{"type":"nothing","data":"x"}`,
      `{"type":"token","data":"x","metadata":{"${NUMBER}":7}}`,
    ];
    await page.getByLabel("File").setInputFiles(fileOf("hostile.ndjson", rows));
    await page.getByText("The row nests deeper than 65 levels.").waitFor();
    await page.getByText('{"mask":"{{ data }}"}').waitFor();
    await page.getByText("The file says itself how values are masked").waitFor();
    expect(await page.content()).not.toMatch(/4242.?4242/);
    await prove(console);
    await page.getByRole("heading", { name: "Imported hostile.ndjson" }).waitFor();
    await page.getByRole("row", { name: /65 levels/ }).waitFor();
    expect(await countOf(tenant)).toBe(1);
    expect(await page.content()).not.toContain(NUMBER);
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });

  it.each([
    ["cards.txt", [`{"type":"token"}`], "Choose a file whose name ends in .csv, .ndjson or .jsonl."],
    ["empty.ndjson", [], "The file has no rows."],
    ["twice.csv", ["a,a", "1,2"], "Columns 1 and 2 of the header have the same name."],
  ])("says what is wrong with %s, and sends nothing", async (name, lines, text) => {
    const tenant = await newTenant();
    await using console = await open(tenant);
    const { page } = console;
    await page.getByLabel("File").setInputFiles(fileOf(name, lines));
    await page.getByText(text).waitFor();
    expect(await page.getByRole("button", { name: "Import the file" }).count()).toBe(0);
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });
});
