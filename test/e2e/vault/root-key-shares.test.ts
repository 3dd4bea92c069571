import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { headerLine } from "../../../src/store/vault-copy/format.js";
import { createAuthority } from "../../egress/certificates.js";
import { cloakroom, cloakroomFed, killedBefore } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";

const directory = newDirectory();
const dataDir = join(directory, "data");
const keyFile = join(dataDir, "root.key");
let cluster: PostgresCluster;
let environment: Record<string, string>;
let tenantId: string;
let admin: Sql;

/** A separate database, on a separate machine. */
async function machine(name: string): Promise<Record<string, string>> {
  const url = await cluster.login(name, { attributes: "createrole" });
  await cluster.grantRoles(name);
  return { DATABASE_URL: url, CLOAKROOM_DATA_DIR: join(directory, name) };
}

beforeAll(async () => {
  cluster = await PostgresCluster.start();
  const url = await cluster.login("vault", { attributes: "createrole" });
  admin = connect({ url: cluster.url("postgres", "vault") }, { connections: 1, statementTimeout: 20_000 });
  environment = { DATABASE_URL: url, CLOAKROOM_DATA_DIR: dataDir };
  expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
  const made = await cloakroom(
    environment,
    "tenants",
    "create",
    "--name",
    "T",
    "--owner-email",
    "a@b.example",
    "--json",
  );
  tenantId = JSON.parse(made.stdout).tenant_id;
});
afterAll(async () => {
  await admin?.end();
  await cluster?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const fed = (lines: readonly string[], ...args: readonly string[]) => cloakroomFed(environment, { lines }, ...args);

/** Splits the root key between two people, both of whom are needed, and destroys its file. */
async function split(): Promise<readonly string[]> {
  const { code, stdout, stderr } = await cloakroom(
    environment,
    "keys",
    "split",
    "--shares",
    "2",
    "--threshold",
    "2",
    "--json",
  );
  expect(code, stderr).toBe(0);
  rmSync(keyFile);
  return JSON.parse(stdout).map(({ text }: { text: string }) => text);
}

const rootsIn = (stdout: string): string[] =>
  JSON.parse(stdout)
    .filter(({ purpose }: { purpose?: string }) => !purpose)
    .map(({ root_key, state }: { root_key: string; state: string }) => `${root_key} ${state}`);

describe("the root key of a vault that uses shares", () => {
  it.each([
    ["was registered", "update root_keys set retired_at"],
    ["wrapped anything", "update tenant_keys set wrapped"],
    ["replaced the old one", "delete from root_keys"],
  ])("is replaced by a command that is run again after it was killed before the new one %s", async (_, statement) => {
    const shares = await split();
    const preload = join(directory, "killed.mjs");
    writeFileSync(preload, killedBefore(statement));
    const killed = await cloakroomFed(environment, { lines: shares, preload }, "keys", "rotate", "--root");
    expect(killed.code, killed.stderr).toBe(137);
    // The time for which a process that is gone keeps its lease.
    await admin`delete from leases`;
    expect(existsSync(keyFile)).toBe(true);

    const without = await fed([], "tenants", "list");
    expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining("is kept in shares") });
    const listed = await fed(shares, "tenants", "list", "--json");
    expect(listed.code, listed.stderr).toBe(0);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ tenant_id: tenantId }]);

    const again = await fed(shares, "keys", "rotate", "--root", "--json");
    expect(again.code, again.stderr).toBe(0);
    expect(again.stderr).toContain("The old one was kept in shares.");
    const { root_key: id } = JSON.parse(again.stdout);
    // The new one is in a file, and the old one is no longer needed.
    const after = await fed([], "keys", "list", "--json");
    expect(rootsIn(after.stdout)).toEqual([`${id} current`]);
    expect(readFileSync(keyFile, "utf8").trim().split("\n")).toEqual([expect.stringContaining(`.${id}.`)]);
  });

  it("is not confused with another file in its place: the vault asks for the shares", async () => {
    const shares = await split();
    const other = await machine("other");
    expect(await cloakroom(other, "init")).toMatchObject({ code: 0 });
    copyFileSync(join(directory, "other", "root.key"), keyFile);
    expect(await fed([], "tenants", "list")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is kept in shares"),
    });
    expect(await fed(shares, "tenants", "list")).toMatchObject({ code: 0 });
    rmSync(keyFile);
    expect(await fed(shares, "keys", "rotate", "--root")).toMatchObject({ code: 0 });
  });
});

describe("an export of a vault that uses shares", () => {
  const early = join(directory, "early.export");
  const file = join(directory, "vault.export");
  const unmentioned = join(directory, "unmentioned.export");
  let shares: readonly string[];
  beforeAll(async () => {
    expect(await cloakroom(environment, "export", "--file", early)).toMatchObject({ code: 0 });
    shares = await split();
    expect(await fed(shares, "export", "--file", file)).toMatchObject({ code: 0 });
  });

  /** An empty database with its own root key, and a machine without one. */
  async function target(name: string): Promise<Record<string, string>> {
    const made = await machine(name);
    expect(await cloakroom(made, "init")).toMatchObject({ code: 0 });
    rmSync(join(directory, name, "root.key"));
    return made;
  }

  it.each([
    ["it was made after the splitting", "after", file],
    ["it was made before the splitting", "before", early],
  ])("is imported with the shares if %s, and the vault asks for them from then on", async (_, name, from) => {
    const made = await target(name);
    const without = await cloakroomFed(made, { lines: [] }, "import", "--file", from);
    expect(without.code).toBe(1);
    expect(without.stderr).toMatch(/in shares, .*on standard input, one per line\.$/m);
    const imported = await cloakroomFed(made, { lines: shares }, "import", "--file", from, "--json");
    expect(imported.code, imported.stderr).toBe(0);
    expect(JSON.parse(imported.stdout)).toMatchObject({ tenants: 1 });
    const refused = await cloakroomFed(made, { lines: [] }, "tenants", "list");
    expect(refused.stderr).toContain("is kept in shares, and this command needs it: give 2 of them");
    const listed = await cloakroomFed(made, { lines: shares }, "tenants", "list", "--json");
    expect(JSON.parse(listed.stdout)).toMatchObject([{ tenant_id: tenantId }]);
  });

  it("is refused as damaged if its header no longer mentions them, also under a digest that was made again", async () => {
    const lines = gunzipSync(readFileSync(file)).toString("latin1");
    const end = lines.indexOf("\n");
    const { sha256: _, ...head } = JSON.parse(lines.slice(0, end));
    expect(head.root_keys).toMatchObject([{ threshold: 2 }]);
    const made = await target("unmentioned");
    const forged = headerLine({ ...head, root_keys: [{ ...head.root_keys[0], threshold: null }] });
    const header = Buffer.from(`${lines.slice(0, end).replace(',"threshold":2', ',"threshold":null')}\n`);
    // The digest is for everybody to make. The MAC over header and rows is not.
    for (const changed of [header, forged]) {
      writeFileSync(unmentioned, gzipSync(Buffer.concat([changed, Buffer.from(lines.slice(end + 1), "latin1")])));
      const read = await cloakroomFed(made, { lines: shares }, "import", "--file", unmentioned);
      expect(read).toMatchObject({ code: 1, stderr: expect.stringContaining("damaged or was cut off") });
    }
    // Nothing of it is stored: the right file still finds the database empty.
    expect(await cloakroomFed(made, { lines: shares }, "import", "--file", file)).toMatchObject({ code: 0 });
  });

  it("reports another root key in its place", async () => {
    const made = await machine("wrong");
    expect(await cloakroom(made, "init")).toMatchObject({ code: 0 });
    const early = await cloakroomFed(made, { lines: [] }, "import", "--file", join(directory, "early.export"));
    expect(early).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is not the one this database was made with"),
    });
  });
});

describe("a sealed server with a certificate", () => {
  it("serves its health over TLS on the main port, as it does once it is unsealed", async () => {
    const authority = await createAuthority();
    const identity = await authority.issue(["localhost"], ["127.0.0.1"]);
    const settings = await machine("tls");
    mkdirSync(join(directory, "tls"), { mode: 0o700 });
    writeFileSync(join(directory, "server.pem"), identity.cert);
    writeFileSync(join(directory, "server.key"), identity.key, { mode: 0o600 });
    expect(await cloakroom(settings, "init")).toMatchObject({ code: 0 });
    const made = await cloakroom(settings, "keys", "split", "--shares", "2", "--threshold", "2", "--json");
    const shares: string[] = JSON.parse(made.stdout).map(({ text }: { text: string }) => text);
    rmSync(join(directory, "tls", "root.key"));
    const child = spawn(process.execPath, ["dist/src/main.js", "serve"], {
      env: {
        PATH: process.env.PATH,
        ...settings,
        CLOAKROOM_PORT: "0",
        CLOAKROOM_ADMIN_PORT: "0",
        CLOAKROOM_TLS_CERT_FILE: join(directory, "server.pem"),
        CLOAKROOM_TLS_KEY_FILE: join(directory, "server.key"),
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const closed = once(child, "close");
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk;
    });
    const statusOf = (url: string) =>
      new Promise<number>((resolve, reject) => {
        const sent = request(url, { ca: authority.pem, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        sent.on("error", reject).end();
      });
    try {
      await expect.poll(() => said).toContain("is kept in shares");
      const [main = "", admin = ""] = [...said.matchAll(/Sealed: health at (\S+)\/readyz/g)].map(([, url]) => url);
      expect(main).toMatch(/^https:/);
      expect(admin).toMatch(/^http:/);
      expect(await statusOf(`${main}/healthz`)).toBe(200);
      expect(await statusOf(`${main}/readyz`)).toBe(503);
      expect((await fetch(`${admin}/readyz`)).status).toBe(503);
      const unsealed = await cloakroomFed(settings, { lines: shares }, "keys", "unseal", "--json");
      expect(JSON.parse(unsealed.stdout)).toEqual({ unsealed: true, shares_held: 2, shares_needed: 2 });
      await expect.poll(() => said).toMatch(/Serving .* at https:/);
      const url = /Serving .* at (\S+)/.exec(said)?.[1];
      expect(await statusOf(`${url}/readyz`)).toBe(200);
    } finally {
      child.kill("SIGTERM");
      await closed;
    }
    expect(child.exitCode).toBe(0);
  });
});
