// Computes: 10 s
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKeyFile } from "../../../src/crypto/key-file.js";
import { headerLine } from "../../../src/store/vault-copy/format.js";
import { cloakroom, cloakroomFed } from "../../support/command.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { restClient } from "../../support/rest.js";
import { type ServerHere, serveHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2031 };
/** More than a stream buffers: the last piece of a table fills it. */
const LONG = "long ".repeat(40_000);
const TEXT = "tab\t, line\n, \\. backslash \\N, ünïcode ✓";

describe("an export", () => {
  const directory = newDirectory();
  const machine = (name: string) => ({ CLOAKROOM_DATA_DIR: join(directory, name) });
  const keyOf = (name: string) => join(directory, name, "root.key");
  const source = machine("source");
  const file = join(directory, "vault.export");
  let server: ServerHere;
  let cluster: PostgresCluster;
  /** An empty database of an operator, on a machine with the root key. */
  let elsewhere: Record<string, string>;
  const tenants: { tenant: TestTenant; key: string; card: string; text: string; long: string }[] = [];
  beforeAll(async () => {
    copyMigratedData(source.CLOAKROOM_DATA_DIR);
    server = await serveHere(source);
    for (let index = 0; index < 2; index += 1) {
      const tenant = await newTenant(server.url, source);
      const backEnd = await tenant.backEnd();
      const card = await backEnd("POST", "/tokens", { body: { type: "card", data: CARD, metadata: { order: "17" } } });
      const text = await backEnd("POST", "/tokens", {
        body: { type: "token", data: TEXT, containers: [`/c${index}/`] },
      });
      const long = await backEnd("POST", "/tokens", { body: { type: "token", data: LONG } });
      tenants.push({ tenant, key: backEnd.key, card: card.body.id, text: text.body.id, long: long.body.id });
    }
    const exported = await cloakroom(source, "export", "--file", file, "--json");
    expect(exported).toMatchObject({ code: 0 });
    expect(JSON.parse(exported.stdout)).toEqual({ file, bytes: statSync(file).size, root_key: expect.any(String) });
    cluster = await PostgresCluster.start();
    elsewhere = {
      ...emptyMachine("elsewhere"),
      DATABASE_URL: await cluster.login("vault", { attributes: "createrole" }),
    };
    expect(await cloakroom(elsewhere, "init")).toMatchObject({ code: 0 });
    // Later changes are not included.
    await restClient(server.url, tenants[0]?.key)("DELETE", `/tokens/${tenants[0]?.card}`);
  });
  afterAll(async () => {
    await server?.stop();
    await cluster?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  /** A machine with nothing but the root key. */
  const emptyMachine = (name: string) => {
    mkdirSync(join(directory, name), { mode: 0o755 });
    copyFileSync(keyOf("source"), keyOf(name));
    return machine(name);
  };

  it("is readable by its owner only, and contains neither values nor the root key", () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const content = gunzipSync(readFileSync(file)).toString("latin1");
    const [, , secret = "nothing"] = readFileSync(keyOf("source"), "utf8").trim().split(".");
    const secrets = [CARD.number, "backslash", "owner@example.com", secret, ...tenants.map(({ key }) => key)];
    for (const each of secrets) {
      expect(content).not.toContain(each);
      expect(content).not.toContain(Buffer.from(each).toString("hex"));
    }
    expect(content).toContain(tenants[0]?.card);
  });

  it("restores everything on an empty machine with the root key, where it serves as before", async () => {
    const target = emptyMachine("target");
    const imported = await cloakroom(target, "import", "--file", file, "--json");
    expect(imported).toMatchObject({ code: 0 });
    expect(JSON.parse(imported.stdout)).toMatchObject({ file, tenants: 2 });
    const restored = await serveHere(target);
    try {
      for (const [index, { tenant, key, card, text, long }] of tenants.entries()) {
        const client = restClient(restored.url, key);
        expect(await client("GET", `/tokens/${card}`)).toMatchObject({ status: 200, body: { data: CARD } });
        const read = await client("GET", `/tokens/${text}`);
        expect(read).toMatchObject({ status: 200, body: { data: TEXT, containers: [`/c${index}/`] } });
        expect((await client("GET", `/tokens/${long}`)).body.data).toBe(LONG);
        const found = await client("GET", "/tokens?metadata.order=17");
        expect(found.body).toMatchObject({ pagination: { total_items: 1 }, data: [{ id: card }] });
        expect(await client("POST", "/tokens", { body: { type: "token", data: 1 } })).toMatchObject({ status: 201 });
        const manage = restClient(restored.url, tenant.managementKey);
        const logs = await manage("GET", `/logs?entity_id=${card}`);
        const operations = logs.body.data.map(({ operation }: { operation: string }) => operation);
        expect(operations.at(-1)).toBe("create");
        expect(operations).not.toContain("delete");
      }
    } finally {
      await restored.stop();
    }
    expect(await cloakroom(target, "audit", "verify")).toMatchObject({ code: 0 });
    // Tenants are separated there as they were.
    expect(await cloakroom(target, "import", "--file", file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("holds tenants or formulas already"),
    });
  });

  it("is rejected completely if a byte was changed, it was truncated, or something was added", async () => {
    const target = elsewhere;
    const bytes = readFileSync(file);
    const lines = gunzipSync(bytes).toString("latin1");
    const damages: [string, Buffer][] = [
      ["a value that was changed", gzipSync(Buffer.from(lines.replace("\tactive\t", "\tpaused\t"), "latin1"))],
      ["cut off", bytes.subarray(0, bytes.length - 100)],
      ["without its end line", gzipSync(Buffer.from(lines.slice(0, lines.lastIndexOf('{"mac"')), "latin1"))],
      ["with bytes after its end", gzipSync(Buffer.from(`${lines}{}\n`, "latin1"))],
      ["a value that the database refuses", gzipSync(Buffer.from(lines.replace(/\\\\x../g, "\\\\xzz"), "latin1"))],
      [
        "a flipped bit in the compressed data",
        Buffer.from(bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 16 : byte))),
      ],
    ];
    for (const [name, damaged] of damages) {
      const path = join(directory, "damaged.export");
      writeFileSync(path, damaged);
      const { code, stderr } = await cloakroom(target, "import", "--file", path);
      expect({ name, code, stderr }).toEqual({
        name,
        code: 1,
        stderr: expect.stringContaining("damaged or was cut off"),
      });
    }
    writeFileSync(join(directory, "other"), "not ours at all");
    expect(await cloakroom(target, "import", "--file", join(directory, "other"))).toMatchObject({ code: 1 });
    // None of it is stored: the right file still finds the database empty.
    expect(await cloakroom(target, "tenants", "list", "--json")).toMatchObject({ code: 0, stdout: "[]\n" });
    expect(await cloakroom(target, "import", "--file", file)).toMatchObject({ code: 0 });
  });

  it("is reported as damaged, and not as of another root key or release, if a byte of its head was changed", async () => {
    const lines = gunzipSync(readFileSync(file)).toString("latin1");
    const head = lines.slice(0, lines.indexOf("\n"));
    const { root_keys, key } = JSON.parse(head);
    const changed = (text: string) => {
      const at = head.indexOf(text) + 3;
      return `${lines.slice(0, at)}${lines[at] === "a" ? "b" : "a"}${lines.slice(at + 1)}`;
    };
    const path = join(directory, "flipped.export");
    const expectDamaged = async (name: string, content: Buffer) => {
      writeFileSync(path, content);
      const { code, stderr } = await cloakroomFed(elsewhere, { lines: [] }, "import", "--file", path);
      expect({ name, code, stderr }).toEqual({
        name,
        code: 1,
        stderr: expect.stringContaining("damaged or was cut off"),
      });
    };
    for (const text of [root_keys[0].id, root_keys[0].check_value, key.root_key_id, key.wrapped]) {
      await expectDamaged(text, gzipSync(Buffer.from(changed(text), "latin1")));
    }
    const undigested = lines.replace(/,"sha256":"[0-9a-f]{64}"/, "");
    expect(undigested.length).toBe(lines.length - 76);
    await expectDamaged("without a digest", gzipSync(Buffer.from(undigested, "latin1")));
  });

  it("is rejected without its root key, with another one, and by another release", async () => {
    const without = { ...elsewhere, ...machine("without") };
    expect(await cloakroomFed(without, { lines: [] }, "import", "--file", file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is missing"),
    });
    const other = { ...elsewhere, ...machine("other-key") };
    await createKeyFile(keyOf("other-key"));
    expect(await cloakroom(other, "import", "--file", file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is not the one this database was made with"),
    });
    const lines = gunzipSync(readFileSync(file)).toString("latin1");
    const end = lines.indexOf("\n");
    const { sha256, ...head } = JSON.parse(lines.slice(0, end));
    expect(headerLine(head).toString()).toBe(lines.slice(0, end + 1));
    const [first, ...others] = head.migrations;
    for (const [migrations, problem] of [
      [others, `from an older release, without ${first}.`],
      [[...head.migrations, "9999_later"], "from a newer release: this one lacks 9999_later."],
      [[...head.migrations, "\u001b]0;title\u0007"], "this one lacks \u{fffd}]0;title\u{fffd}."],
    ]) {
      const another = join(directory, "another.export");
      const header = headerLine({ ...head, migrations });
      writeFileSync(another, gzipSync(Buffer.concat([header, Buffer.from(lines.slice(end + 1), "latin1")])));
      expect(await cloakroom(elsewhere, "import", "--file", another)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(problem),
      });
    }
  });

  it("never overwrites a file", async () => {
    const before = readFileSync(file);
    const { code, stderr } = await cloakroom(source, "export", "--file", file);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("already exists") });
    expect(readFileSync(file).equals(before)).toBe(true);
    const nowhere = join(directory, "nowhere", "vault.export");
    const refused = { code: 2, stderr: `--file ${nowhere} cannot be created.\n` };
    expect(await cloakroom(source, "export", "--file", nowhere)).toMatchObject(refused);
  });

  it("succeeds next to the remains of a killed export, and one of two concurrent ones is complete", async () => {
    const target = mkdirSync(join(directory, "exports"), { recursive: true }) ?? "";
    const twice = join(target, "twice.export");
    writeFileSync(`${twice}.unfinished`, "of a killed run");
    const runs = await Promise.all([1, 2].map(() => cloakroom(source, "export", "--file", twice)));
    const [made, refused] = runs.toSorted((a, b) => (a.code ?? 0) - (b.code ?? 0));
    expect(made?.code).toBe(0);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("already exists") });
    expect(readdirSync(target)).toEqual(["twice.export", "twice.export.unfinished"]);
    const lines = gunzipSync(readFileSync(twice)).toString("latin1").trimEnd().split("\n");
    expect(lines.at(-1)).toMatch(/^\{"mac":"[0-9a-f]{64}"\}$/);
  });
});
