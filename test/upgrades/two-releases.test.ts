// Waits: 20 s
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectAllReadable, TokenLoad } from "../e2e/support/token-load.js";
import { cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { PostgresCluster } from "../support/postgres-cluster.js";
import { startReplica } from "../support/replica.js";
import { restClient } from "../support/rest.js";
import { fillVault } from "./fill-vault.js";

const directory = newDirectory();
let cluster: PostgresCluster;
beforeAll(async () => {
  cluster = await PostgresCluster.start();
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** This build with migrations of a release to come: one that locks the table of tokens, one that builds an index. */
function nextRelease(): string {
  const folder = join(directory, "next");
  mkdirSync(folder);
  cpSync("dist", join(folder, "dist"), { recursive: true });
  cpSync("package.json", join(folder, "package.json"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  const migrations = join(folder, "dist/src/store/migrations");
  writeFileSync(join(migrations, "9000_note.sql"), "alter table tokens add column note text not null default '';\n");
  writeFileSync(
    join(migrations, "9001_note.concurrent.sql"),
    "create index concurrently if not exists tokens_note on tokens (tenant_id, note);\n",
  );
  return join(folder, "dist/src/main.js");
}

it("a server serves while the next release's migrates and starts, and does not start after it", async () => {
  const vault = {
    DATABASE_URL: await cluster.login("shared", { attributes: "createrole" }),
    CLOAKROOM_DATA_DIR: join(directory, "data"),
  };
  mkdirSync(vault.CLOAKROOM_DATA_DIR, { mode: 0o755 });
  expect(await cloakroom(vault, "init")).toMatchObject({ code: 0 });
  const owner = "owner@example.com";
  const created = await cloakroom(vault, "tenants", "create", "--name", "Shop", "--owner-email", owner, "--json");
  const { key: managementKey } = JSON.parse(created.stdout);
  const loads = { before: new TokenLoad("before", 4), after: new TokenLoad("after", 4) };
  await using before = await startReplica(vault);
  const { backEndKey } = await fillVault(before.url, managementKey);
  const atBefore = restClient(before.url, backEndKey);
  loads.before.start(atBefore);

  const next = nextRelease();
  await promisify(execFile)(process.execPath, [next, "migrate"], { env: { PATH: process.env.PATH, ...vault } });
  await using after = await startReplica(vault, next);
  const atAfter = restClient(after.url, backEndKey);
  loads.after.start(atAfter);
  const sent = loads.before.requests.length;
  await expect.poll(() => loads.before.acknowledged.length).toBeGreaterThan(sent + 20);
  await expect.poll(() => loads.after.acknowledged.length).toBeGreaterThan(20);
  for (const load of Object.values(loads)) {
    await load.stop();
    expect([...load.refusals]).toEqual([]);
  }
  await expectAllReadable(atAfter, loads.before.acknowledged);
  await expectAllReadable(atBefore, loads.after.acknowledged);
  expect(await before.stop()).toBe(0);
  await expect(startReplica(vault)).rejects.toThrow("The database's schema is newer than this program");
  await expectAllReadable(atAfter, loads.before.acknowledged);
});
