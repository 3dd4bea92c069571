// Needs: chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { memberOf, openConsole, type RoleName } from "./support/console.js";

let browser: Browser;
let tenant: TestTenant;
beforeAll(async () => {
  [browser, tenant] = await Promise.all([sharedBrowser(), newTenant()]);
});
afterAll(() => browser.close());

const open = async (role: RoleName, options = {}) =>
  openConsole(browser, tenant, await memberOf(tenant, role), options);

/** Replaces the text of an editor, as a person does: by keyboard. */
async function type(page: Page, label: string, text: string): Promise<void> {
  const editor = page.getByRole("textbox", { name: label });
  await editor.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

describe("a reactor", () => {
  it("is written, tried with its console output, and saved only then", async () => {
    await using console = await open("DEVELOPER");
    const { page } = console;
    await console.go("/reactors");
    await page.getByText("There are no reactors.").waitFor();
    await page.getByRole("link", { name: "New reactor" }).first().click();
    await page.getByLabel("Name").fill("Doubles amounts");
    await type(
      page,
      "Code",
      "module.exports = async (req) => { console.log('got', req.args.amount); return { raw: { amount: req.args.amount * 2 } }; };",
    );
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText('"amount": 42').waitFor();
    await page.getByText("got 21").waitFor();
    await page.getByText(/^\d+ ms, [\d.]+ MiB$/).waitFor();
    await console.expectAccessible();
    expect((await tenant.manage("GET", "/reactors")).body.data).toEqual([]);
    await page.getByLabel("Configuration to set").fill("MODE=live");
    await page.getByRole("button", { name: "Create reactor" }).click();
    await page.getByRole("heading", { level: 1, name: "Doubles amounts" }).waitFor();
    await page.getByText("Show failed runs").click();
    await page.getByText("There were no failed runs.").waitFor();
    const { body } = await tenant.manage("GET", "/reactors");
    expect(body.data).toMatchObject([{ name: "Doubles amounts", configuration: { MODE: "live" } }]);
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });

  it("is tried with a token that exists, whose value the code gets masked", async () => {
    const own = await newTenant();
    const backEnd = await own.backEnd();
    const { body: token } = await backEnd("POST", "/tokens", {
      body: { type: "card_number", data: "4242424242424242" },
    });
    await using console = await openConsole(browser, own, await memberOf(own, "ADMIN"));
    const { page } = console;
    await console.go("/reactors?new=1");
    await page.getByLabel("Token for the sample").selectOption(String(token.id));
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText('"value": "XXXXXXXXXXXX4242"').waitFor();
    await console.expectAccessible();
    await page.getByLabel("Send its requests to their real destinations, this time").check();
    expect(await page.getByLabel("Evaluate token expressions, with masked values").isDisabled()).toBe(true);
    expect(await page.content()).not.toContain("4242424242424242");
    expect(console.wrongs).toEqual([]);
  });

  it("with an error in its code says the line", async () => {
    await using console = await open("DEVELOPER", { expected: /status of 400/ });
    const { page } = console;
    await console.go("/reactors?new=1");
    await type(page, "Code", "module.exports = async () => {\n  throw new Error('on purpose');\n};");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Line 2").waitFor();
    await console.expectAccessible();
  });

  it("completes what the sandbox gives to code", async () => {
    await using console = await open("DEVELOPER");
    const { page } = console;
    await console.go("/reactors?new=1");
    await type(page, "Code", "");
    await page.keyboard.type("req.b");
    await page.getByRole("option", { name: "bt", exact: true }).click();
    await expect.poll(() => page.getByRole("textbox", { name: "Code" }).textContent()).toBe("req.bt");
    expect(console.wrongs).toEqual([]);
  });

  it("keeps its hidden configuration, and shows a conflict to the second of two editors", async () => {
    const { body } = await tenant.manage("POST", "/reactors", {
      body: { name: "Shared", code: "module.exports = async () => ({});", configuration: { KEY: "hidden-value" } },
    });
    const path = `/reactors?id=${body.id}`;
    await using first = await open("ADMIN");
    await using second = await open("ADMIN");
    await Promise.all([first.go(path), second.go(path)]);
    for (const { page } of [first, second]) {
      await page.getByText("hidden values: KEY").waitFor();
      expect(await page.content()).not.toContain("hidden-value");
    }
    await first.page.getByLabel("Name").fill("By the first");
    await first.page.getByRole("button", { name: "Save" }).click();
    await first.page.getByRole("heading", { level: 1, name: "By the first" }).waitFor();
    await second.page.getByLabel("Name").fill("By the second");
    await second.page.getByRole("button", { name: "Save" }).click();
    await second.page.getByText("Somebody else has saved a newer version").waitFor();
    await second.expectAccessible();
    expect((await tenant.manage("GET", `/reactors/${body.id}`)).body.name).toBe("By the first");
    await second.page.getByRole("button", { name: "Save over the newer version" }).click();
    await second.page.getByRole("heading", { level: 1, name: "By the second" }).waitFor();
    expect((await tenant.manage("GET", `/reactors/${body.id}`)).body).toMatchObject({
      ...{ name: "By the second", configuration: { KEY: "hidden-value" } },
    });
  });
});

it("asks before it saves over a version of another that came right after the person's own", async () => {
  const draft = { name: "Saved by two", code: "module.exports = async () => ({});" };
  const { body } = await tenant.manage("POST", "/reactors", { body: draft });
  const path = `/reactors/${body.id}`;
  await using console = await open("ADMIN");
  const { page } = console;
  await page.route("**/cloakroom.v1.ReactorService/UpdateReactor", async (route) => {
    const response = await route.fetch();
    await tenant.manage("PUT", path, { body: { ...draft, name: "By a program" } });
    await route.fulfill({ response });
  });
  await console.go(`/reactors?id=${body.id}`);
  await page.getByLabel("Name").fill("By the console");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { level: 1, name: "By a program" }).waitFor();
  await page.unroute("**/cloakroom.v1.ReactorService/UpdateReactor");
  await page.getByLabel("Name").fill("By the console again");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Somebody else has saved a newer version").waitFor();
  expect((await tenant.manage("GET", path)).body.name).toBe("By a program");
  await page.getByRole("button", { name: "Save over the newer version" }).click();
  await page.getByRole("heading", { level: 1, name: "By the console again" }).waitFor();
  expect(console.wrongs).toEqual([]);
});

describe("the editor", () => {
  it("is left by keyboard: Escape gives Tab back to the page", async () => {
    await using console = await open("DEVELOPER");
    const { page } = console;
    await console.go("/reactors?new=1");
    const editor = page.getByRole("textbox", { name: "Code" });
    await editor.click();
    await page.keyboard.type("x");
    await page.keyboard.press("Tab");
    const isFocused = () => editor.evaluate((element) => element.matches(":focus"));
    expect(await isFocused()).toBe(true);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    expect(await isFocused()).toBe(false);
  });
});

describe("a proxy", () => {
  it("is written, tried against a made-up response, and saved", async () => {
    await using console = await open("DEVELOPER");
    const { page } = console;
    await console.go("/proxies");
    await page.getByText("There are no proxies.").waitFor();
    await page.getByRole("link", { name: "New proxy" }).first().click();
    await page.getByLabel("Name").fill("Partner");
    await page.getByLabel("Destination", { exact: true }).fill("https://api.example.com/pay");
    await type(
      page,
      "Code for requests",
      "module.exports = async (req) => ({ body: { ...req.args.body, added: 1 }, headers: req.args.headers });",
    );
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText('"added": 1').waitFor();
    await page.getByText('"approved": true').last().waitFor();
    await console.expectAccessible();
    await page.getByRole("button", { name: "Create proxy" }).click();
    await page.getByRole("heading", { level: 1, name: "Partner" }).waitFor();
    await page.getByText("BT-PROXY-KEY").waitFor();
    await console.expectAccessible();
    const { body } = await tenant.manage("GET", "/proxies");
    expect(body.data).toMatchObject([{ name: "Partner", destination_url: "https://api.example.com/pay" }]);
    expect(console.wrongs).toEqual([]);
  });

  it("is read by a DEVELOPER who does not own it, who learns why it cannot be changed", async () => {
    const { body } = await tenant.manage("POST", "/proxies", {
      body: { name: "Of another", destination_url: "https://api.example.com" },
    });
    await using console = await open("DEVELOPER");
    const { page } = console;
    await console.go(`/proxies?id=${body.id}`);
    await page.getByText("Your role DEVELOPER changes only what you created.").waitFor();
    for (const name of ["Save", "Delete"]) expect(await page.getByRole("button", { name }).count()).toBe(0);
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });

  it("with transforms of other kinds keeps them", async () => {
    const transforms = [{ type: "mask", matcher: "regex", expression: "(\\d+)", replacement: "*" }];
    const { body } = await tenant.manage("POST", "/proxies", {
      body: { name: "Masks", destination_url: "https://api.example.com", response_transforms: transforms },
    });
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go(`/proxies?id=${body.id}`);
    await page.getByRole("region", { name: "Code for responses, changed by the API only" }).waitFor();
    await page.getByLabel("Name").fill("Masks, renamed");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Masks, renamed" }).waitFor();
    expect((await tenant.manage("GET", `/proxies/${body.id}`)).body.response_transforms).toMatchObject(transforms);
  });

  it("is read and not changed by an AUDITOR, who sees no key", async () => {
    const { body } = await tenant.manage("POST", "/proxies", {
      body: { name: "Audited", destination_url: "https://api.example.com" },
    });
    await using console = await open("AUDITOR");
    const { page } = console;
    await console.go(`/proxies?id=${body.id}`);
    await page.getByText("hidden from your role").waitFor();
    expect(await page.content()).not.toContain(body.key);
    for (const name of ["Save", "Run", "Delete"]) expect(await page.getByRole("button", { name }).count()).toBe(0);
    await console.settle();
    await console.expectAccessible();
    expect(console.wrongs).toEqual([]);
  });
});

describe("an editor with changes that are not saved", () => {
  it("asks before another place of the console is opened, and before the document is left", async () => {
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go("/proxies?new=1");
    await page.getByLabel("Name").fill("Half done");
    await page.getByRole("link", { name: "Tokens" }).click();
    const question = page.getByRole("dialog", { name: "Leave without saving?" });
    await question.waitFor();
    await console.expectAccessible();
    await question.getByRole("button", { name: "Stay" }).click();
    expect(await page.getByLabel("Name").inputValue()).toBe("Half done");
    const asked: string[] = [];
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    await page.evaluate("void setTimeout(() => location.reload(), 0)");
    await expect.poll(() => asked).toEqual(["beforeunload"]);
    await page.getByRole("link", { name: "Tokens" }).click();
    await question.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("asks when the browser goes back or forward, by one page or several, and shows its text all the time", async () => {
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go("/usage");
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("link", { name: "Reactors" }).click();
    await page.getByRole("link", { name: "New reactor" }).first().click();
    await page.getByLabel("Name").fill("Half done");
    const question = page.getByRole("dialog", { name: "Leave without saving?" });
    for (const distance of [-1, -3]) {
      await page.evaluate(`history.go(${distance})`);
      await question.getByRole("button", { name: "Stay" }).click();
      expect(await page.getByLabel("Name").inputValue()).toBe("Half done");
      expect(page.url()).toContain("/console/reactors?new=1");
    }
    await page.evaluate("history.go(-3)");
    await question.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("heading", { level: 1, name: "Usage" }).waitFor();
    expect(page.url()).toContain("/console/usage");
    await page.evaluate("history.go(2)");
    await page.getByRole("heading", { level: 1, name: "Reactors" }).waitFor();
    await page.evaluate("history.forward()");
    expect(await page.getByLabel("Name").inputValue()).toBe("");
    await page.getByLabel("Name").fill("Half done again");
    await page.evaluate("location.hash = 'content'");
    await page.evaluate("history.go(-2)");
    await question.getByRole("button", { name: "Stay" }).click();
    expect(await page.getByLabel("Name").inputValue()).toBe("Half done again");
    expect(console.wrongs).toEqual([]);
  });

  it("asks for an application's rights, too, and is cancelled", async () => {
    const draft = { name: "Has rights", type: "private", permissions: ["token:create"] };
    const { body } = await tenant.manage("POST", "/applications", { body: draft });
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go(`/applications?id=${body.id}`);
    await page.getByRole("button", { name: "Edit name and rights" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Edit name and rights" }).click();
    await page.getByLabel("Name").fill("Other name");
    await page.getByRole("button", { name: "Cancel" }).click();
    const question = page.getByRole("dialog", { name: "Leave without saving?" });
    await question.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("heading", { level: 1, name: "Has rights" }).waitFor();
    await page.getByRole("button", { name: "Edit name and rights" }).click();
    expect(await page.getByLabel("Name").inputValue()).toBe("Has rights");
    await page.getByLabel("Name").fill("Other name");
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("does not undo what another person has changed of an application's rights without a question", async () => {
    const draft = { name: "Two editors", type: "private", permissions: ["token:create"] };
    const { body } = await tenant.manage("POST", "/applications", { body: draft });
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go(`/applications?id=${body.id}`);
    await page.getByRole("button", { name: "Edit name and rights" }).click();
    await page.getByLabel("Name").fill("By the console");
    const path = `/applications/${body.id}`;
    await tenant.manage("PUT", path, { body: { name: "By a program", permissions: ["token:read"] } });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Somebody else has saved a newer version").waitFor();
    expect((await tenant.manage("GET", path)).body.name).toBe("By a program");
    await page.getByRole("button", { name: "Save over the newer version" }).click();
    await page.getByRole("heading", { level: 1, name: "By the console" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });

  it("asks no more once they are saved or taken back", async () => {
    const draft = { name: "Kept", code: "module.exports = async () => ({});" };
    const { body } = await tenant.manage("POST", "/reactors", { body: draft });
    await using console = await open("ADMIN");
    const { page } = console;
    await console.go(`/reactors?id=${body.id}`);
    await page.getByLabel("Name").fill("Changed");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Changed" }).waitFor();
    await page.getByLabel("Name").fill("Changed again");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Changed again" }).waitFor();
    await page.getByRole("link", { name: "Log", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Log" }).waitFor();
    await console.go(`/reactors?id=${body.id}`);
    await page.getByLabel("Name").fill("Changed twice");
    await page.getByLabel("Name").fill("Changed again");
    await page.getByRole("link", { name: "Log", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Log" }).waitFor();
    expect(console.wrongs).toEqual([]);
  });
});
