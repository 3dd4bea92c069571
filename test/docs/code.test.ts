import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { afterAll, describe, expect, it } from "vitest";
import { isJsonObject, type Json } from "../../src/base/json.js";
import { publishedErrors } from "../../src/sandbox/guest-error.js";
import { CODE_CHARACTERS, defaultInstanceLimits, defaultLimits } from "../../src/sandbox/limits.js";
import { openSandbox } from "../sandbox/support/open-sandbox.js";
import { newTenant } from "../support/tenant.js";
import { WalkThrough } from "./support/walk-through.js";

const guide = readFileSync("docs/code.md", "utf8");
const section = (title: string) => guide.split(/^## /m).find((text) => text.startsWith(title)) ?? "";
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
const paragraph = (text: string, start: string) =>
  text.slice(text.indexOf(start) + start.length).split("\n\n", 1)[0] ?? "";

const EXAMPLE =
  /```js\n([\s\S]*?)```\n\nCalled with\n\n```json\n([\s\S]*?)```\n\nit (returns|fails with)\n\n```json\n([\s\S]*?)```/g;

/** Globals of the engine that belong to the language but that not every version of Node.js has. */
const AHEAD_OF_NODE = ["InternalError", "SuppressedError", "DisposableStack", "AsyncDisposableStack", "Float16Array"];
/** Node.js counts these as part of the language; here we provide them. */
const NOT_OF_LANGUAGE = new Set(["Atomics", "Intl", "console"]);

const opened = openSandbox({ threads: 1 });
afterAll(() => opened[Symbol.asyncDispose]());

function parsed(text: string): Json {
  return JSON.parse(text);
}

describe("the guide to code", () => {
  const examples = [...guide.matchAll(EXAMPLE)];

  it("has only examples that run", () => {
    expect(guide.match(/```js\n/g)).toHaveLength(examples.length);
    expect(examples.length).toBeGreaterThan(3);
  });

  it.each(examples.map(([, code = "", req = "", how = "", end = ""]) => [code, req, how, end]))(
    "shows what this gives: %s",
    async (code, req, how, end) => {
      const args = parsed(req);
      if (!isJsonObject(args)) throw new Error("the argument of an example is an object");
      const outcome = await opened.run(code, { args });
      if (how === "returns") expect(outcome).toMatchObject({ kind: "returned", value: parsed(end) });
      else expect(outcome).toMatchObject({ kind: "threw", error: parsed(end) });
    },
  );

  it("lists every module, and no other", async () => {
    const text = String(await opened.thrown("module.exports = () => require('none of all');"));
    const available = (/Available here: (.*)\.$/.exec(text)?.[1] ?? "").split(", ");
    const modules = section("Modules");
    const ofNode = quoted(paragraph(modules, "before the name:"));
    const packages = paragraph(modules, "major versions:");
    const others = ["node-fetch", "@basis-theory/basis-theory-reactor-formulas-sdk-js"];
    expect([...ofNode, ...quoted(packages), ...others].sort()).toEqual(available.sort());
  });

  it("gives the right major versions of packages", () => {
    const catalogue: { packages: { name: string; from?: string }[] } = JSON.parse(
      readFileSync("src/sandbox/packages.json", "utf8"),
    );
    const lock: { packages: Record<string, { version?: string }> } = JSON.parse(
      readFileSync("packages/guest/package-lock.json", "utf8"),
    );
    const told = new Map(
      [...paragraph(section("Modules"), "major versions:").matchAll(/`([^`]+)` (\d+)/g)].map(([, name = "", major]) => [
        name,
        major,
      ]),
    );
    for (const { name, from = name } of catalogue.packages) {
      const folder = from.split("/").slice(0, from.startsWith("@") ? 2 : 1);
      const { version } = lock.packages[`node_modules/${folder.join("/")}`] ?? {};
      expect([name, told.get(name)]).toEqual([name, version?.split(".")[0]]);
    }
  });

  it("lists what is refused, each with the reason in its error", async () => {
    const { refused }: { refused: { names: string[] }[] } = JSON.parse(
      readFileSync("src/sandbox/packages.json", "utf8"),
    );
    const listed = quoted(paragraph(section("Modules"), "in the error:"));
    expect(listed.sort()).toEqual(refused.flatMap(({ names }) => names).sort());
    const code = `module.exports = () => ${JSON.stringify(listed)}.map((name) => { try { require(name); return name; } catch (error) { return error.message; } });`;
    for (const message of [await opened.value(code)].flat()) expect(message).toMatch(/is not available: \w+/);
  });

  it("lists every global that does not belong to the language", async () => {
    const found = await opened.value("module.exports = () => Object.getOwnPropertyNames(globalThis);");
    // A bare context has only the language. Its newer parts may be here before Node.js has them, as may the engine's
    // Error types.
    const bare: Json = runInNewContext("Object.getOwnPropertyNames(globalThis)");
    const language = new Set(
      [bare]
        .flat()
        .map(String)
        .concat(AHEAD_OF_NODE)
        .filter((name) => !NOT_OF_LANGUAGE.has(name)),
    );
    const globals = [found]
      .flat()
      .map(String)
      .filter((name) => !language.has(name));
    expect(quoted(paragraph(section("Globals"), "the web:\n\n")).sort()).toEqual(globals.sort());
  });

  it("gives the right statuses and details of errors", () => {
    const rows = [...section("Fail").matchAll(/^\| `(\w+)` \| (\d+) \| (.*) \|$/gm)];
    expect(
      Object.fromEntries(rows.map(([, name, status, detail]) => [name, { status: Number(status), detail }])),
    ).toEqual(publishedErrors);
  });

  it("gives the right limits", () => {
    const { wallMs, loadMs, memoryBytes, hostCalls, hostCallsInFlight, hostCallBytes, consoleBytes, timers } =
      defaultLimits("reactor");
    const MB = 1024 * 1024;
    const limits = section("Limits");
    for (const text of [
      `${CODE_CHARACTERS.toLocaleString("en-US")} characters`,
      `| ${wallMs / 1_000} s |`,
      `| ${loadMs / 1_000} s |`,
      `| ${memoryBytes / MB} MB |`,
      `| ${hostCalls.toLocaleString("en-US")}, of which ${hostCallsInFlight} at a time |`,
      `its response | ${hostCallBytes / MB} MB each |`,
      `| ${consoleBytes / 1024} KB |`,
      `timers at a time | ${timers} |`,
      `up to ${defaultInstanceLimits.calls.toLocaleString("en-US")} runs`,
    ]) {
      expect(limits).toContain(text);
    }
  });

  it("has a command that tests code as described", async () => {
    const tenant = await newTenant();
    const author = await tenant.application({ type: "management", permissions: ["reactor:create"] });
    const page = new WalkThrough("docs/code.md", { KEY: author.key }, tenant.url);
    const shown: Json = JSON.parse(await page.type());
    expect(shown).toMatchObject({
      returned: { raw: { rate: 1.1 } },
      console: [{ level: "log", text: "{ currency: 'USD' }" }],
      calls: [{ url: "https://api.example.com/rates", answered_by: "test" }],
    });
    expect(page.isAtEnd).toBe(true);
  });

  it("links only to existing files", () => {
    for (const [, target = ""] of guide.matchAll(/\]\(([^)#]+)\)/g)) {
      expect(existsSync(join("docs", target)), target).toBe(true);
    }
  });
});
