// Waits: 20 s
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { PostgresCluster } from "../support/postgres-cluster.js";
import { startReplica } from "../support/replica.js";
import { answersTo, callWith, type Readings } from "./fill-vault.js";

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
    const key = join(vault.CLOAKROOM_DATA_DIR ?? "", "root.key");
    copyFileSync(join(FOLDER, "root.key"), key);
    // A clone has it as a file that everybody may read, which a vault refuses.
    chmodSync(key, 0o600);
    expect(await cloakroom(vault, "init")).toMatchObject({ code: 0 });
    expect(await cloakroom(vault, "import", "--file", join(FOLDER, "vault.export"))).toMatchObject({ code: 0 });
    expect(await cloakroom(vault, "migrate")).toMatchObject({ code: 0 });
    await using server = await startReplica(vault);
    await expectReadings(server.url, release);
    expect(await cloakroom(vault, "audit", "verify")).toMatchObject({ code: 0 });
  });
});
