import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { cloakroom, cloakroomFed } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { newTenant, type TestTenant } from "../support/tenant.js";
import { signedIn } from "../support/test-browser.js";

let tenant: TestTenant;
let key: string;
let application: string;
let token: string;
const directory = newDirectory();

const environment = (apiKey: string): Record<string, string> => ({
  CLOAKROOM_URL: inject("serverUrl"),
  CLOAKROOM_API_KEY: apiKey,
  XDG_CONFIG_HOME: join(directory, "none"),
});
const manage = (...args: string[]) => cloakroom(environment(tenant.managementKey), ...args);
const complete = async (...words: string[]) =>
  (await manage("__complete", "--", ...words)).stdout.split("\n").slice(0, -1);

beforeAll(async () => {
  tenant = await newTenant();
  key = (await tenant.backEnd()).key;
  application = (await cloakroom(environment(key), "whoami", "--query", "application_id")).stdout.trim();
  const args = ["tokens", "create", "--type", "token", "--text", "-", "--container", "/general/", "--query", "id"];
  token = (await cloakroomFed(environment(key), { lines: ["a value"] }, ...args)).stdout.trim();
});

describe("cloakroom access explain", () => {
  const explain = (...args: string[]) => manage("access", "explain", ...args);
  /** As the owner of the tenant: keys that may explain rights cannot read tokens. */
  const explainAsOwner = async (...args: string[]) => {
    const home = join(directory, "owner");
    const file = join(home, "cloakroom", "config.json");
    if (!existsSync(file)) {
      const browser = await signedIn(tenant.id, "owner@example.com");
      mkdirSync(join(home, "cloakroom"), { recursive: true });
      const profile = { url: inject("serverUrl"), sign_in: browser.cookieHeader() };
      writeFileSync(file, JSON.stringify({ default: profile }), { mode: 0o600 });
    }
    return cloakroom({ XDG_CONFIG_HOME: home }, "access", "explain", ...args);
  };

  it("says which rule decides about a token, to a person who signed in", async () => {
    const { code, stdout } = await explainAsOwner(application, token);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("token:read is allowed (reveal)") });
    expect(stdout).toMatch(/\tdecides$/m);
    expect((await explainAsOwner(application, "no-such-token")).code).toBe(5);
  });

  it("says it about containers, also to a key, and finds the application of a key on standard input", async () => {
    const args = ["access", "explain", "-", "--container", "/general/", "--json"];
    const ofKey = await cloakroomFed(environment(tenant.managementKey), { lines: [key] }, ...args);
    expect(JSON.parse(ofKey.stdout)).toMatchObject({ application_id: application, transform: "reveal" });
    const shop = ["--name", "Shop", "--type", "public", "--permission", "token:create", "--quiet"];
    const id = (await manage("apps", "create", ...shop)).stdout.trim();
    const denied = await explain(id, "--container", "/general/");
    expect({ code: denied.code, stdout: denied.stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("is denied"),
    });
  });

  it.each([
    [["nope", "--container", "/"], 1, "application_id"],
    [["01900000-0000-7000-8000-000000000000", "--container", "/"], 5, ""],
    [["APPLICATION", "--container", "/", "--permission", "x"], 1, "permission"],
    [["APPLICATION", "TOKEN"], 6, "token:read"],
    [["APPLICATION", "TOKEN", "--container", "/"], 2, "either TOKEN or --container"],
    [["APPLICATION"], 2, "either TOKEN or --container"],
    [[], 2, "APPLICATION is missing"],
  ])("%j ends with %i", async (args, code, message) => {
    const given = args.map((word) => (word === "APPLICATION" ? application : word === "TOKEN" ? token : word));
    expect(await explain(...given)).toEqual({ code, stdout: "", stderr: expect.stringContaining(message) });
  });

  it("refuses a key as an argument, and shows nothing of another tenant", async () => {
    expect((await explain(key, token)).code).toBe(2);
    const other = await newTenant();
    const args = ["access", "explain", application, "--container", "/"];
    const foreign = await cloakroom(environment(other.managementKey), ...args);
    expect({ code: foreign.code, stdout: foreign.stdout }).toEqual({ code: 5, stdout: "" });
  });
});

describe("completion of ids", () => {
  it("asks the vault for the newest", async () => {
    expect(await complete("apps", "get", "")).toContain(application);
    expect(await complete("apps", "get", application.slice(0, -1))).toEqual([application]);
    expect(await complete("apps", "get", "x")).toEqual([]);
    expect(await complete("app-keys", "get", application, "")).toHaveLength(1);
    expect(await complete("apps", "get", application, "")).toEqual([]);
  });

  it("says nothing without a key, with one that may not list, or without a vault", async () => {
    const words = ["__complete", "--", "members", "update", ""];
    for (const given of [
      environment("key_prod_pvt_nope"),
      environment(key),
      { XDG_CONFIG_HOME: directory },
      { ...environment(key), CLOAKROOM_URL: "http://127.0.0.1:9" },
    ]) {
      expect(await cloakroom(given, ...words)).toEqual({ code: 0, stdout: "", stderr: "" });
    }
  });

  it("offers no id that a shell would not take as one word, and bash evaluates none", async () => {
    const bin = join(directory, "bin");
    mkdirSync(bin);
    const mark = join(directory, "evaluated");
    const program = join(bin, "cloakroom");
    const real = `"${process.execPath}" "${process.cwd()}/dist/src/main.js"`;
    writeFileSync(program, `#!/bin/sh\n[ "$1" = completion ] && exec ${real} "$@"\necho 'a$(touch ${mark})b'\n`);
    chmodSync(program, 0o755);
    const script = `eval "$(cloakroom completion bash)"
      COMP_WORDS=(cloakroom tokens get ""); COMP_CWORD=3; _cloakroom; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = { PATH: `${bin}:${process.env.PATH ?? ""}` };
    const { stdout } = await promisify(execFile)("bash", ["-c", script], { env });
    expect(stdout).toBe(`a$(touch ${mark})b\n`);
    expect(existsSync(mark)).toBe(false);
    const args = ["tokens", "create", "--type", "token", "--text", "-", "--id", "strange:id", "--query", "id"];
    await cloakroomFed(environment(key), { lines: ["a value"] }, ...args);
    const words = ["__complete", "--", "tokens", "get", ""];
    const ids = (await cloakroom(environment(key), ...words)).stdout;
    expect(ids).toContain(token);
    expect(ids).not.toContain("strange:id");
  });
});

describe("cloakroom with --quiet", () => {
  it("prints ids only, of one thing or of many", async () => {
    expect((await manage("apps", "get", application, "--quiet")).stdout).toBe(`${application}\n`);
    expect((await manage("apps", "list", "--quiet")).stdout.split("\n")).toContain(application);
    expect((await manage("apps", "list", "--all", "--quiet")).stdout.split("\n")).toContain(application);
    expect((await manage("whoami", "--quiet")).stdout).toBe("");
  });

  it("does not go with --json or --query", async () => {
    expect((await manage("apps", "list", "--quiet", "--json")).code).toBe(2);
    expect((await manage("apps", "list", "--quiet", "--query", "[].id")).code).toBe(2);
  });
});
