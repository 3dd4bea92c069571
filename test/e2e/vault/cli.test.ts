import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { type CommandResult, cloakroom } from "../../support/command.js";
import { restClient } from "../../support/rest.js";

describe("cloakroom", () => {
  const run = (...args: string[]): Promise<CommandResult> => cloakroom(inject("serverEnvironment"), ...args);

  it.each([[[]], [["--help"]], [["help"]]])("called with %j lists its commands", async (args) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Usage: cloakroom <command>");
    for (const name of ["serve", "init", "migrate", "tenants create", "tenants list", "doctor"])
      expect(stdout).toContain(name);
  });

  it.each(["--version", "-V", "version"])("%s prints the version", async (word) => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    const { node } = process.versions;
    const plain = await run(word);
    expect({ code: plain.code, stderr: plain.stderr }).toEqual({ code: 0, stderr: "" });
    const commit = readFileSync("dist/.commit", "utf8").trim();
    expect(plain.stdout).toMatch(
      new RegExp(`^cloakroom ${version} \\(commit ${commit}, Node\\.js ${node}, \\w+-\\w+\\)\n$`),
    );
    expect(JSON.parse((await run(word, "--json")).stdout)).toMatchObject({ version, commit, node });
  });

  it("version refuses options that it does not have", async () => {
    expect(await run("version", "--sever")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/--server/),
    });
  });

  it.each(["serve", "init", "migrate", "tenants create", "tenants list", "doctor"])(
    "%s --help says what it takes, and does nothing",
    async (name) => {
      const { code, stdout, stderr } = await run(...name.split(" "), "--help");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain(`Usage: cloakroom ${name}`);
      expect(stdout).toContain("--json");
    },
  );

  it("lists the commands that begin with a word, and keeps standard output for results", async () => {
    const asked = await run("keys", "--help");
    expect(asked.stdout.match(/^ {2}\w+ \w+/gm)).toEqual(
      ["keys list", "keys rotate", "keys split", "keys unseal"].map((name) => `  ${name}`),
    );
    const wrong = await run("keys");
    expect({ code: wrong.code, stdout: wrong.stdout }).toEqual({ code: 2, stdout: "" });
    expect(wrong.stderr).toContain("  keys rotate ");
  });

  it.each([
    [["nope"], /There is no command "nope"/],
    [["tenants"], /There is no command "tenants"/],
    [["tenants", "nope"], /There is no command/],
    [["tenants", "create"], /--name is missing/],
    [["tenants", "create", "--name", "X"], /--owner-email is missing/],
    [["tenants", "create", "--name", " ", "--owner-email", "a@b"], /--name is missing/],
    [["tenants", "create", "--name", "X", "--owner-email", "nowhere"], /--owner-email must be an e-mail address/],
    [["tenants", "create", "--name", "x".repeat(201), "--owner-email", "a@b"], /at most 200/],
    [["tenants", "create", "--nmae", "X"], /--nmae.*cloakroom tenants create --help/s],
    [["tenants", "create", "X"], /Unexpected argument.*--help/s],
    [["tenants", "list", "--name", "X"], /--name/],
    [["serve", "--port", "1"], /--port/],
  ])("%j is a usage error: exit code 2, and a message on standard error", async (args, words) => {
    const { code, stderr } = await run(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(words);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  describe("tenants create", () => {
    let made: CommandResult;
    beforeAll(async () => {
      made = await run("tenants", "create", "--name", "Ünï & Co", "--owner-email", "owner@example.com", "--json");
    });

    it("prints one JSON document and nothing else", () => {
      expect({ code: made.code, stderr: made.stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(made.stdout)).toEqual({
        tenant_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        application_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        key: expect.stringMatching(/^key_prod_mgt_\w+$/),
      });
      expect(made.stdout.trim().split("\n")).toHaveLength(1);
    });

    it("creates a tenant that works at once on the running server", async () => {
      const { tenant_id, application_id, key } = JSON.parse(made.stdout);
      const client = restClient(inject("serverUrl"), key);
      expect(await client("GET", "/tenants/self")).toMatchObject({
        status: 200,
        body: { id: tenant_id, name: "Ünï & Co" },
      });
      const application = await client("GET", "/applications/key");
      expect(application.body).toMatchObject({ id: application_id, type: "management" });
      const permissions = await client("GET", "/permissions?application_type=management");
      expect(application.body.permissions.toSorted()).toEqual(
        permissions.body.map(({ type }: { type: string }) => type).toSorted(),
      );
    });

    it("prints lines unless JSON is requested", async () => {
      const { code, stdout } = await run("tenants", "create", "--name", "Lines", "--owner-email", "owner@example.com");
      expect(code).toBe(0);
      expect(stdout).toMatch(/^tenant_id: [0-9a-f-]{36}\napplication_id: [0-9a-f-]{36}\nkey: key_prod_mgt_\w+\n$/);
    });

    it("can run several times concurrently", async () => {
      const all = await Promise.all(
        ["A", "B", "C"].map((name) =>
          run("tenants", "create", "--name", name, "--owner-email", "owner@example.com", "--json"),
        ),
      );
      expect(all.map(({ code }) => code)).toEqual([0, 0, 0]);
      expect(new Set(all.map(({ stdout }) => JSON.parse(stdout).tenant_id)).size).toBe(3);
    });
  });

  it("tenants list shows every tenant, and no key", async () => {
    await run("tenants", "create", "--name", "Listed", "--owner-email", "owner@example.com");
    const { code, stdout } = await run("tenants", "list", "--json");
    expect(code).toBe(0);
    const tenants = JSON.parse(stdout);
    expect(tenants).toContainEqual({
      tenant_id: expect.any(String),
      name: "Listed",
      state: "active",
      created_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
    });
    const times = tenants.map(({ created_at }: { created_at: string }) => created_at);
    expect(times).toEqual(times.toSorted());
    expect(stdout).not.toMatch(/key_|@/);
  });

  it("doctor finds no problem with a running server's database", async () => {
    const { code, stdout } = await run("doctor", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      healthy: true,
      database: expect.stringMatching(/^embedded, /),
      server_version: expect.stringMatching(/^18/),
      role: "cloakroom_app",
      database_bytes: expect.any(Number),
      root_key: expect.any(String),
    });
  });

  it("doctor reports a wrong root key, and exits with 1", async () => {
    const directory = mkdtempSync(join(tmpdir(), "cloakroom-cli-"));
    try {
      const environment = { ...inject("serverEnvironment"), CLOAKROOM_ROOT_KEY_FILE: join(directory, "missing.key") };
      const { code, stdout } = await cloakroom(environment, "doctor", "--json");
      expect(code).toBe(1);
      const { healthy, problem } = JSON.parse(stdout);
      expect(healthy).toBe(false);
      expect(problem).toContain("missing.key");
      expect(() => statSync(join(directory, "missing.key"))).toThrow();
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it("a second server on the same directory is refused, and the first continues", async () => {
    const { code, stderr } = await run("serve");
    expect(code).toBe(1);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(await restClient(inject("serverUrl"))("GET", "/readyz")).toMatchObject({ status: 200 });
  });

  it("every command reports a wrong setting in one line", async () => {
    const { code, stderr } = await cloakroom(
      { ...inject("serverEnvironment"), CLOAKROOM_COLOUR: "red" },
      "tenants",
      "list",
    );
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toEqual([expect.stringContaining("Unknown setting CLOAKROOM_COLOUR")]);
  });
});
