import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type CommandResult, cloakroom, killedBefore } from "../support/command.js";
import { copyMigratedData } from "../support/migrated-data.js";
import { newDirectory } from "../support/new-directory.js";
import { startReplica } from "../support/replica.js";
import { restClient } from "../support/rest.js";

const root = newDirectory();
afterAll(() => rmSync(root, { recursive: true, force: true }));

const environment: Record<string, string> = {
  CLOAKROOM_DATA_DIR: copyMigratedData(join(root, "data")),
  CLOAKROOM_PORT: "0",
  CLOAKROOM_ADMIN_PORT: "0",
};

async function portTaken(): Promise<CommandResult> {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" && address ? address.port : 0;
  try {
    return await cloakroom({ ...environment, CLOAKROOM_PORT: String(port) }, "serve");
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

it("the first start that succeeds makes the first tenant and shows its key, whatever commands and starts came before it and failed", async () => {
  expect(await cloakroom(environment, "doctor")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("Made the root key"),
  });
  expect(await portTaken()).toMatchObject({ code: 1, stderr: expect.stringContaining("Cannot listen at ") });
  expect(await cloakroom({ ...environment, CLOAKROOM_EGRESS_ALLOW: "no/network" }, "serve")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("CLOAKROOM_EGRESS_ALLOW"),
  });
  expect(await killedBeforeFirstTenant()).toMatchObject({ code: 137, stderr: expect.stringContaining("Serving ") });

  await using server = await startReplica(environment);
  await expect.poll(() => server.said(), { timeout: 10_000 }).toMatch(/key_prod_mgt_\w+/);
  expect(server.said()).toContain("Welcome to Cloakroom. Your first tenant is ready.");
  const [key] = /key_prod_mgt_\w+/.exec(server.said()) ?? [];
  const manage = restClient(server.url, key);
  expect((await manage("GET", "/tenants/self")).body).toMatchObject({ name: "First tenant" });
  // A vault whose tenants are all deleted is no new one.
  expect((await manage("DELETE", "/tenants/self")).status).toBe(204);
});

it("a first tenant is made once: a later start has nothing to show", async () => {
  const server = await startReplica(environment);
  // What it has to show it shows before it stops.
  expect(await server.stop()).toBe(0);
  expect(server.said()).not.toContain("Welcome");
});
