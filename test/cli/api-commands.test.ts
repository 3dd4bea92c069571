import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { type CommandResult, cloakroom, cloakroomFed } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

const NUMBER = "4242424242424242";

describe("cloakroom over the API", () => {
  let tenant: TestTenant;
  let directory: string;
  let key: string;
  beforeAll(async () => {
    tenant = await newTenant();
    directory = newDirectory();
    key = (await tenant.backEnd()).key;
  });

  const environment = (apiKey: string): Record<string, string> => ({
    CLOAKROOM_URL: inject("serverUrl"),
    CLOAKROOM_API_KEY: apiKey,
    XDG_CONFIG_HOME: join(directory, "none"),
  });
  const run = (...args: string[]): Promise<CommandResult> => cloakroom(environment(key), ...args);
  const manage = (...args: string[]): Promise<CommandResult> => cloakroom(environment(tenant.managementKey), ...args);
  const createCard = async (): Promise<string> => {
    const args = ["tokens", "create", "--type", "card", "--number", "-", "--json"];
    const { stdout } = await cloakroomFed(environment(key), { lines: [NUMBER] }, ...args);
    return JSON.parse(stdout).id;
  };

  describe("login", () => {
    const home = (): Record<string, string> => ({ XDG_CONFIG_HOME: join(directory, "home") });
    const file = () => join(directory, "home", "cloakroom", "config.json");

    it("saves address and key in a file that only its owner reads, and whoami says where both come from", async () => {
      const url = inject("serverUrl");
      const saved = await cloakroomFed(home(), { lines: [key] }, "login", "--url", url, "--with-key", "--json");
      expect({ code: saved.code, stderr: saved.stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(saved.stdout)).toMatchObject({ profile: "default", tenant_id: tenant.id });
      expect(saved.stdout).not.toContain(key);
      expect(statSync(file()).mode & 0o777).toBe(0o600);
      const shown = await cloakroom(home(), "whoami", "--json");
      expect(JSON.parse(shown.stdout)).toMatchObject({
        url,
        url_from: "profile default",
        key: `…${key.slice(-4)}`,
        key_from: "profile default",
      });
      const both = { ...home(), CLOAKROOM_API_KEY: tenant.managementKey };
      expect(JSON.parse((await cloakroom(both, "whoami", "--json")).stdout)).toMatchObject({
        key_from: "CLOAKROOM_API_KEY",
        application_type: "management",
      });
    });

    it("does not save a key that the vault refuses", async () => {
      const args = ["login", "--profile", "wrong", "--url", inject("serverUrl"), "--with-key"];
      const { code, stderr } = await cloakroomFed(home(), { lines: ["key_prod_pvt_wrongwrongwrong"] }, ...args);
      expect(code).toBe(4);
      expect(stderr).not.toContain("wrongwrong");
      expect(readFileSync(file(), "utf8")).not.toContain("wrong");
    });

    it("does not send the key of a profile to another address", async () => {
      const { code, stderr } = await cloakroom(home(), "whoami", "--url", "http://127.0.0.1:9");
      expect(code).toBe(2);
      expect(stderr).toContain("not sent to another address");
    });

    it("refuses a file that others may read, until its mode is right", async () => {
      chmodSync(file(), 0o644);
      const { code, stderr } = await cloakroom(home(), "whoami");
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`chmod 600 ${file()}`) });
      chmodSync(file(), 0o600);
      expect((await cloakroom(home(), "whoami")).code).toBe(0);
    });

    it("asks for nothing where there is no terminal", async () => {
      const { code, stderr } = await cloakroom(home(), "login", "--url", inject("serverUrl"));
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("--with-key < FILE") });
    });

    it("logout removes the profile", async () => {
      expect((await cloakroom(home(), "logout")).code).toBe(0);
      expect(readFileSync(file(), "utf8")).not.toContain("key_");
      expect((await cloakroom(home(), "whoami")).code).toBe(4);
    });
  });

  describe("tokens", () => {
    it("create reads the number from standard input and prints masked data", async () => {
      const args = ["tokens", "create", "--type", "card", "--number", "-", "--expiration-year", "2030"];
      const { code, stdout, stderr } = await cloakroomFed(environment(key), { lines: [NUMBER] }, ...args, "--json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).not.toContain(NUMBER);
      expect(JSON.parse(stdout)).toMatchObject({
        type: "card",
        tenant_id: tenant.id,
        data: { number: "XXXXXXXXXXXX4242", expiration_year: 2030 },
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      });
    });

    it("get shows data on request only", async () => {
      const id = await createCard();
      const hidden = await run("tokens", "get", id, "--json");
      expect(JSON.parse(hidden.stdout)).toMatchObject({ id, card: { last4: "4242" } });
      expect(hidden.stdout).not.toContain(NUMBER);
      const shown = await run("tokens", "get", id, "--reveal", "--reason", "test", "--query", "data.number");
      expect(shown.stdout).toBe(`${NUMBER}\n`);
    });

    it("create takes text and JSON from files, and refuses values in arguments", async () => {
      const file = join(directory, "value.json");
      writeFileSync(file, '{"firstName":"Ada"}');
      const args = ["tokens", "create", "--type", "token", "--metadata", "a=b", "--query", "id"];
      const id = (await run(...args, "--data", `@${file}`)).stdout.trim();
      expect(JSON.parse((await run("tokens", "get", id, "--reveal", "--json")).stdout)).toMatchObject({
        data: { firstName: "Ada" },
        metadata: { a: "b" },
      });
      const refused = await run(...args, "--data", '{"secret":"hunter2"}');
      expect({ ...refused }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining("@FILE") });
      expect(refused.stderr).not.toContain("hunter2");
      const number = await run("tokens", "create", "--type", "card", "--number", NUMBER);
      expect({ ...number }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining("standard input") });
      expect(number.stderr).not.toContain(NUMBER);
    });

    it("list prints columns with tabs, as many as --limit, or with --all one document per line", async () => {
      await Promise.all([createCard(), createCard()]);
      const limited = await run("tokens", "list", "--type", "card", "--limit", "2");
      expect(limited.stdout.trimEnd().split("\n")).toHaveLength(2);
      expect(limited.stdout).toMatch(/^\S+\tcard\t\/pci\/high\/\t/);
      const all = await run("tokens", "list", "--all", "--json");
      const lines = all.stdout.trimEnd().split("\n");
      expect(lines.length).toBeGreaterThan(2);
      for (const line of lines) expect(JSON.parse(line)).toMatchObject({ tenant_id: tenant.id });
      expect(all.stdout).not.toContain(NUMBER);
    });

    it("update changes, and delete asks first", async () => {
      const id = await createCard();
      const changed = await run("tokens", "update", id, "--metadata", "order=17", "--query", "metadata.order");
      expect(changed.stdout).toBe("17\n");
      const asked = await run("tokens", "delete", id);
      expect({ code: asked.code, stderr: asked.stderr }).toEqual({ code: 2, stderr: expect.stringContaining("--yes") });
      expect((await run("tokens", "get", id)).code).toBe(0);
      expect((await run("tokens", "delete", id, "--yes")).code).toBe(0);
      expect((await run("tokens", "get", id)).code).toBe(5);
    });
  });

  it("--query is checked before the call, and says how to name a part of a list", async () => {
    const made = await manage("apps", "create", "--name", "Never made", "--query", "[x]");
    expect(made).toMatchObject({ code: 2, stderr: expect.stringContaining("--query must be a path") });
    expect((await manage("apps", "list", "--query", "[].name")).stdout).not.toContain("Never made");
    expect(await manage("apps", "list", "--query", "name")).toMatchObject({
      ...{ code: 2, stdout: "", stderr: expect.stringContaining("[].name") },
    });
  });

  it("apps and app-keys: create, show, change and delete", async () => {
    const args = ["--name", "Shop", "--type", "public", "--permission", "token:create"];
    const created = JSON.parse((await manage("apps", "create", ...args, "--json")).stdout);
    expect(created).toMatchObject({ name: "Shop", key: expect.stringMatching(/^key_/) });
    const { id } = created;
    expect((await manage("apps", "list", "--type", "public", "--query", "[].id")).stdout).toBe(`${id}\n`);
    const file = join(directory, "application.json");
    const rules = [{ priority: 1, container: "/", transform: "mask", permissions: ["token:create"] }];
    writeFileSync(file, JSON.stringify({ name: "Till", rules }));
    expect(JSON.parse((await manage("apps", "update", id, "--from", file, "--json")).stdout)).toMatchObject({
      name: "Till",
      rules: [{ transform: "mask" }],
    });
    const second = JSON.parse((await manage("app-keys", "create", id, "--json")).stdout);
    expect((await cloakroom(environment(second.key), "whoami", "--query", "application_name")).stdout).toBe("Till\n");
    expect((await manage("app-keys", "delete", id, second.id, "--yes")).code).toBe(0);
    expect((await manage("app-keys", "list", id)).stdout.trimEnd().split("\n")).toHaveLength(1);
    expect((await manage("apps", "delete", id, "--yes")).code).toBe(0);
    expect((await manage("apps", "get", id)).code).toBe(5);
  });

  it("apps: templates and page requests, which come back as they were given", async () => {
    const templates = [
      { name: "receipt", mask: { number: "{{ data.number }}" }, search_indexes: ["{{ data.number }}"] },
    ];
    const file = join(directory, "templates.json");
    writeFileSync(file, JSON.stringify(templates));
    const given = ["--origin", "https://shop.example.com", "--templates", `@${file}`, "--allow-page-requests", "yes"];
    const create = ["apps", "create", "--name", "Shop", "--type", "public", "--permission", "token:create", "--json"];
    const created = JSON.parse((await manage(...create, ...given)).stdout);
    const pages = { allowed_origins: ["https://shop.example.com"], allow_page_requests: true };
    expect(created).toMatchObject({ ...pages, templates });
    const { name, permissions, allowed_origins, templates: shown, allow_page_requests } = created;
    const copy = { name, permissions, allowed_origins, templates: shown, allow_page_requests };
    writeFileSync(file, JSON.stringify(copy));
    const same = JSON.parse((await manage("apps", "update", created.id, "--from", file, "--json")).stdout);
    expect(same).toMatchObject({ ...pages, templates });
    writeFileSync(file, "[]");
    const less = [
      "--name",
      "Shop",
      "--permission",
      "token:create",
      "--templates",
      `@${file}`,
      "--allow-page-requests",
      "no",
      "--json",
    ];
    const changed = JSON.parse((await manage("apps", "update", created.id, ...less)).stdout);
    expect(changed.templates ?? []).toEqual([]);
    expect(changed.allow_page_requests ?? false).toBe(false);
    expect(changed.allowed_origins).toEqual(pages.allowed_origins);
  });

  it("proxies: create, change, list and delete", async () => {
    const args = ["--name", "Partner", "--destination-url", "https://partner.example.com/a", "--query", "id"];
    const id = (await manage("proxies", "create", ...args)).stdout.trim();
    const changed = await manage("proxies", "update", id, "--name", "Other", "--json");
    expect(JSON.parse(changed.stdout)).toMatchObject({
      name: "Other",
      destination_url: "https://partner.example.com/a",
    });
    expect((await manage("proxies", "list", "--name", "Oth", "--query", "[].id")).stdout).toBe(`${id}\n`);
    expect((await manage("proxies", "delete", id, "--yes")).code).toBe(0);
    expect((await manage("proxies", "get", id)).code).toBe(5);
  });

  it("reactors: run a file, create it, react, and delete", async () => {
    const file = join(directory, "double.js");
    writeFileSync(
      file,
      "module.exports = async ({ args }) => { console.log('doubling'); return { raw: { n: 2 * args.n } }; };",
    );
    const args = join(directory, "args.json");
    writeFileSync(args, '{"n":21}');
    const tried = await manage("reactors", "run", file, "--args", `@${args}`);
    expect(tried.code).toBe(0);
    expect(JSON.parse(tried.stdout)).toEqual({ raw: { n: 42 } });
    expect(tried.stderr).toContain("doubling");
    const created = await manage("reactors", "create", "--name", "Double", "--code", file, "--query", "id");
    const id = created.stdout.trim();
    expect((await run("reactors", "react", id, "--args", `@${args}`, "--query", "raw.n")).stdout).toBe("42\n");
    expect((await manage("reactors", "delete", id, "--yes")).code).toBe(0);
    writeFileSync(file, "module.exports = async () => { throw new Error('no luck'); };");
    const failed = await manage("reactors", "run", file);
    expect({ code: failed.code, stdout: failed.stdout }).toEqual({ code: 1, stdout: "" });
  });

  it("reactors: an expression in the arguments of a run stays as it is, unless tokens are to be evaluated", async () => {
    const id = await createCard();
    const [file, args] = [join(directory, "echo.js"), join(directory, "expression.json")];
    writeFileSync(file, "module.exports = async ({ args }) => ({ raw: args });");
    writeFileSync(args, JSON.stringify({ token: `{{ ${id} }}` }));
    const plain = await manage("reactors", "run", file, "--args", `@${args}`);
    expect(JSON.parse(plain.stdout)).toEqual({ raw: { token: `{{ ${id} }}` } });
    const evaluated = await manage("reactors", "run", file, "--args", `@${args}`, "--evaluate-tokens");
    // A management key reads no tokens.
    expect(evaluated.stdout).toBe("");
    expect(evaluated.stderr).toContain("token:read");
  });

  it("members and logs are listed", async () => {
    expect((await manage("members", "list", "--query", "[].role")).stdout).toBe("OWNER\n");
    const id = await createCard();
    const recent = await manage("logs", "list", "--since", "24h", "--operation", "read", "--actor-type", "user");
    expect(recent).toMatchObject({ code: 0, stderr: "" });
    expect(await manage("logs", "list", "--transform", "show")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--transform must be one of: reveal, mask, redact"),
    });
    const rows = await manage("logs", "list", "--entity-id", id, "--query", "[].operation");
    expect(rows.stdout).toBe("create\n");
  });

  it.each([
    [["tokens", "get", "nope"], 5],
    [["members", "list"], 6],
    [["tokens", "list", "--limit", "x"], 2],
    [["tokens", "list", "--tpye", "card"], 2],
    [["tokens", "get"], 2],
    [["tokens", "get", "a", "b"], 2],
    [["tokens", "list", "--type"], 2],
    [["tokens", "list", "--json=x"], 2],
    [["apps", "create", "--type", "secret"], 2],
    [["tokens", "search", "type:"], 1],
    [["tokens", "list", "--timeout", "2147484"], 2],
  ])("%j ends with %i and a message on standard error", async (args, code) => {
    const result = await run(...args);
    expect({ code: result.code, stdout: result.stdout }).toEqual({ code, stdout: "" });
    expect(result.stderr).not.toMatch(/^\s+at /m);
    const asJson = await run(...args, "--json");
    expect(asJson.code).toBe(code);
    expect(JSON.parse(asJson.stderr)).toMatchObject({ code: expect.any(String), message: expect.any(String) });
  });

  it("ends with 4 without a key or with a wrong one, and with 8 without a vault", async () => {
    const { CLOAKROOM_URL: url, XDG_CONFIG_HOME: home } = environment(key);
    const without = { CLOAKROOM_URL: url ?? "", XDG_CONFIG_HOME: home ?? "" };
    expect((await cloakroom(without, "tokens", "list")).code).toBe(4);
    expect((await cloakroom(environment("key_prod_pvt_nopenopenope"), "tokens", "list")).code).toBe(4);
    const away = { ...environment(key), CLOAKROOM_URL: "http://127.0.0.1:9" };
    expect((await cloakroom(away, "tokens", "list", "--timeout", "2")).code).toBe(8);
  });

  it("suggests what was probably meant, and never runs it", async () => {
    expect((await run("tokns", "list")).stderr).toContain("Did you mean: cloakroom tokens list?");
    expect((await run("apps", "lst")).stderr).toContain("Did you mean: cloakroom apps list?");
    expect((await run("doctr")).stderr).toContain("Did you mean: cloakroom doctor?");
    expect((await run("tokens", "list", "--tpye", "card")).stderr).toContain("Did you mean --type?");
    expect((await run("tokns", "list")).code).toBe(2);
  });

  it("ends quietly when its reader does", async () => {
    await createCard();
    const child = spawn(process.execPath, ["dist/src/main.js", "tokens", "list", "--all"], {
      env: { PATH: process.env.PATH, ...environment(key) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let printed = "";
    child.stderr.on("data", (chunk: Buffer) => {
      printed += chunk;
    });
    const [code] = await once(child, "exit");
    expect({ code, printed }).toEqual({ code: 0, printed: "" });
  });

  it.each(["bash", "zsh", "fish"])("prints completion for %s", async (shell) => {
    const { code, stdout } = await cloakroom({}, "completion", shell);
    expect(code).toBe(0);
    expect(stdout).toContain("cloakroom __complete --");
    expect((await cloakroom({}, "__complete", "--", "tokens", "cr")).stdout).toBe("create\n");
  });

  it("completes in bash", async () => {
    const bin = join(directory, "bin");
    mkdirSync(bin);
    const program = join(bin, "cloakroom");
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${process.cwd()}/dist/src/main.js" "$@"\n`);
    chmodSync(program, 0o755);
    const script = `eval "$(cloakroom completion bash)"
      COMP_WORDS=(cloakroom tokens cr); COMP_CWORD=2; _cloakroom; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = { PATH: `${bin}:${process.env.PATH ?? ""}` };
    const { stdout } = await promisify(execFile)("bash", ["-c", script], { env });
    expect(stdout).toBe("create\n");
  });
});
