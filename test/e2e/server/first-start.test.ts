// Computes: 10 s
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type CommandResult, cloakroom, cloakroomProcess, killedBefore } from "../../support/command.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";

const root = newDirectory();
afterAll(() => rmSync(root, { recursive: true, force: true }));

const environment: Record<string, string> = {
  CLOAKROOM_DATA_DIR: copyMigratedData(join(root, "data")),
  CLOAKROOM_PORT: "0",
  CLOAKROOM_ADMIN_PORT: "0",
};

const KEY_FILE = join(root, "data", "first-management-key");

async function portTaken(): Promise<CommandResult> {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" && address ? address.port : 0;
  try {
    return await cloakroomProcess({ ...environment, CLOAKROOM_PORT: String(port) }, "serve");
  } finally {
    other.close();
  }
}

async function killedBeforeFirstTenant(): Promise<CommandResult> {
  const preload = join(root, "killed.mjs");
  writeFileSync(preload, killedBefore("insert into tenants"));
  const child = spawn(process.execPath, ["--import", preload, "dist/src/main.js", "serve"], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk;
  });
  await once(child, "close");
  return { code: child.signalCode === "SIGKILL" ? 137 : (child.exitCode ?? 1), stdout: "", stderr };
}

it("the first successful start creates the first tenant and shows its key, whatever failed before it", async () => {
  expect(await cloakroom(environment, "tenants", "list")).toMatchObject({
    code: 1,
    stderr: "The database has no root key yet. Run: cloakroom init\n",
  });
  expect(await cloakroom(environment, "init")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("Made the root key"),
  });
  expect(await portTaken()).toMatchObject({ code: 1, stderr: expect.stringContaining("Cannot listen at ") });
  expect(await cloakroomProcess({ ...environment, CLOAKROOM_EGRESS_ALLOW: "no/network" }, "serve")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("CLOAKROOM_EGRESS_ALLOW"),
  });
  expect(await killedBeforeFirstTenant()).toMatchObject({ code: 137, stderr: expect.stringContaining("Serving ") });

  await using server = await startReplica(environment);
  await expect.poll(() => server.said()).toContain(KEY_FILE);
  expect(server.said()).toContain("Welcome to Cloakroom. Your first tenant is ready.");
  expect(server.said()).toContain(`API, page by page: ${server.url}/docs`);
  // A service's output is kept in logs: the key is not in it.
  expect(server.said()).not.toContain("key_prod_mgt");
  expect(statSync(KEY_FILE).mode & 0o777).toBe(0o600);
  const key = readFileSync(KEY_FILE, "utf8").trim();
  const manage = restClient(server.url, key);
  expect((await manage("GET", "/tenants/self")).body).toMatchObject({ name: "First tenant" });
  // A vault whose tenants are all deleted is not a new one.
  expect((await manage("DELETE", "/tenants/self")).status).toBe(204);
});

it("a first tenant is created once: a later start shows no key", async () => {
  const server = await startReplica(environment);
  // It prints everything before it stops.
  expect(await server.stop()).toBe(0);
  expect(server.said()).not.toContain("Welcome");
});

it.runIf(process.platform === "linux")(
  "on a terminal the first start shows the key there, and makes no file of it",
  async () => {
    const dataDir = copyMigratedData(join(root, "terminal"));
    const env = { PATH: process.env.PATH, ...environment, CLOAKROOM_DATA_DIR: dataDir };
    const command = `exec ${process.execPath} dist/src/main.js serve`;
    const child = spawn("script", ["-qefc", command, "/dev/null"], { env, stdio: ["ignore", "pipe", "inherit"] });
    let shown = "";
    child.stdout.on("data", (chunk: Buffer) => {
      shown += chunk;
    });
    const ended = once(child, "close");
    await expect.poll(() => shown).toContain("3. Read it back:");
    process.kill(Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim()), "SIGTERM");
    await ended;
    expect(shown).toMatch(/This is its management key; it is not shown again:\s+key_prod_mgt_\w+\s/);
    expect(existsSync(join(dataDir, "first-management-key"))).toBe(false);
  },
);

it("a command without a vault creates none, and says what to do", async () => {
  const dataDir = join(root, "elsewhere");
  const made = ["tenants", "create", "--name", "T", "--owner-email", "a@example.com"];
  const { code, stdout, stderr } = await cloakroom({ CLOAKROOM_DATA_DIR: dataDir }, ...made);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toBe(
    `There is no vault in ${dataDir}. Set CLOAKROOM_DATA_DIR to the data directory of the server, or DATABASE_URL to its database. To make a new vault here, run: cloakroom init\n`,
  );
  expect(existsSync(dataDir)).toBe(false);
});
