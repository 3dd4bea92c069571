// Needs: curl, chromium
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../support/browser.js";
import { newTenant, type TestTenant } from "../support/tenant.js";
import { openServed, typeCard } from "./support/served-page.js";
import { WalkThrough } from "./support/walk-through.js";

describe("the README, as it is written", () => {
  let tenant: TestTenant;
  let readme: WalkThrough;
  const read = (field: string) => (_: string, printed: string) => String(JSON.parse(printed)[field]);
  beforeAll(async () => {
    tenant = await newTenant();
    readme = new WalkThrough("README.md", {}, tenant.url);
  });

  it("begins with the two commands of a first start", () => {
    expect(readme.next).toBe("npm ci\nnpm start\n");
    readme.advance();
  });

  it("creates an application with the key that the start printed", async () => {
    await readme.type((name, printed) =>
      name === "MANAGEMENT_KEY" ? tenant.managementKey : String(JSON.parse(printed).key),
    );
    expect(readme.variable("KEY")).toMatch(/^key_prod_pvt_/);
  });

  it("tokenizes a card with curl, and reads it back", async () => {
    const shown = JSON.parse(await readme.type(read("id")));
    expect(shown).toMatchObject({ id: readme.variable("TOKEN_ID"), data: { number: "4242424242424242" } });
  });

  it("tokenizes a card over gRPC", async () => {
    expect(JSON.parse(await readme.type())).toMatchObject({ id: expect.any(String), type: "card" });
  });

  it("creates a page's key; its page tokenizes a card", async () => {
    await readme.type(read("key"));
    const publicKey = readme.variable("PUBLIC_KEY") ?? "";
    expect(publicKey).toMatch(/^key_prod_pub_/);
    const [, snippet = ""] = /```html\n([\s\S]*?)```/.exec(readFileSync("README.md", "utf8")) ?? [];
    const html = snippet.replace('"..."', JSON.stringify(publicKey)).replaceAll("http://127.0.0.1:8080", tenant.url);
    await using browser = await sharedBrowser();
    const page = await openServed(browser, "http://localhost:4000", html);
    await typeCard(page, "4242424242424242");
    const printed = page.waitForEvent("console", (message) => message.type() === "log");
    await page.click("#pay");
    const backEnd = await tenant.backEnd();
    expect((await backEnd("GET", `/tokens/${(await printed).text()}`)).body.data).toEqual({
      ...{ number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" },
    });
  });
});
