// Waits: 20 s
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectAllReadable, TokenLoad } from "../e2e/support/token-load.js";
import { cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { PostgresCluster } from "../support/postgres-cluster.js";
import { startReplica } from "../support/replica.js";
import { restClient } from "../support/rest.js";
import { newTenant } from "../support/tenant.js";
import { answersTo, callWith, fillVault, type Readings } from "./fill-vault.js";
import { lastReleaseProgram } from "./last-release-program.js";

const FOLDER = "test/upgrades/last-release";
const release: Readings & { readonly version: string } = JSON.parse(
  readFileSync(join(FOLDER, "readings.json"), "utf8"),
);

const directory = newDirectory();
let cluster: PostgresCluster;
beforeAll(async () => {
  cluster = await PostgresCluster.start();
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** An empty machine with a database of its own. */
async function machine(name: string): Promise<Record<string, string>> {
  const dataDir = join(directory, name);
  mkdirSync(dataDir, { mode: 0o755 });
  return {
    DATABASE_URL: await cluster.login(name, { attributes: "createrole" }),
    CLOAKROOM_DATA_DIR: dataDir,
  };
}

/** Both keys see what they saw. This build may show more. */
async function expectReadings(url: string, { managementKey, managed, backEndKey, read }: Readings): Promise<void> {
  expect(await answersTo(callWith(url, managementKey), Object.keys(managed))).toMatchObject(managed);
  expect(await answersTo(callWith(url, backEndKey), Object.keys(read))).toMatchObject(read);
}

describe("a vault of the last release", () => {
  it("is of a release from which this one may be reached", () => {
    const { version }: { version: string } = JSON.parse(readFileSync("package.json", "utf8"));
    const [major = 0, minor = 0] = version.split(".").map(Number);
    const [lastMajor = 0, lastMinor = 0] = release.version.split(".").map(Number);
    // docs/releases.md: from one minor release to the next. Write the vault again with the newest release if this fails.
    expect(lastMajor).toBe(major);
    expect([minor, minor - 1]).toContain(lastMinor);
  });

  it("shows all that it showed, and its log is whole", async () => {
    const vault = await machine("imported");
    copyFileSync(join(FOLDER, "root.key"), join(vault.CLOAKROOM_DATA_DIR ?? "", "root.key"));
    expect(await cloakroom(vault, "init")).toMatchObject({ code: 0 });
    expect(await cloakroom(vault, "import", "--file", join(FOLDER, "vault.export"))).toMatchObject({ code: 0 });
    expect(await cloakroom(vault, "migrate")).toMatchObject({ code: 0 });
    await using server = await startReplica(vault);
    await expectReadings(server.url, release);
    expect(await cloakroom(vault, "audit", "verify")).toMatchObject({ code: 0 });
  });
});

describe("servers of the last release and of this one on one database", () => {
  it("serve beside each other, and read what either wrote, before and after keys are rotated", async () => {
    const program = await lastReleaseProgram(join(directory, "program"));
    const vault = await machine("shared");
    const old = (...args: string[]) =>
      execFileSync(process.execPath, [program, ...args], {
        env: { PATH: process.env.PATH, ...vault },
        encoding: "utf8",
      });
    old("init");
    await using before = await startReplica(vault, program);
    const tenant = await newTenant(before.url, vault);
    const readings = await fillVault(before.url, tenant.managementKey);
    const { key } = await tenant.backEnd();
    const loads = { old: new TokenLoad("old", 2), new: new TokenLoad("new", 2) };
    loads.old.start(restClient(before.url, key));
    loads.old.slowDown(200);

    const checked = await cloakroom(vault, "upgrade", "check");
    expect(checked.code, checked.stdout).toBe(0);
    expect(await cloakroom(vault, "migrate")).toMatchObject({ code: 0 });
    await using after = await startReplica(vault);
    loads.new.start(restClient(after.url, key));
    loads.new.slowDown(200);
    await expectReadings(after.url, readings);
    expect(await cloakroom(vault, "keys", "rotate", "--tenant", tenant.id)).toMatchObject({ code: 0 });
    await expectReadings(before.url, readings);
    const later = await newTenant(after.url, vault);
    const written = await fillVault(after.url, later.managementKey);
    await expectReadings(before.url, written);
    for (const load of Object.values(loads)) await load.stop();

    for (const load of Object.values(loads)) expect([...load.refusals.keys()]).toEqual([]);
    await expectAllReadable(restClient(after.url, key), loads.old.acknowledged);
    await expectAllReadable(restClient(before.url, key), loads.new.acknowledged);
    const [first] = loads.old.acknowledged;
    if (!first) throw new Error("the load stored nothing");
    const repeated = { ...first, acknowledged: undefined };
    await loads.new.send(restClient(after.url, key), repeated);
    expect(repeated.acknowledged, "a repeat at the other server").toEqual(first.acknowledged);
    expect(await before.stop()).toBe(0);
    await expectReadings(after.url, readings);
    expect(await cloakroom(vault, "audit", "verify")).toMatchObject({ code: 0 });
  }, 600_000);
});
