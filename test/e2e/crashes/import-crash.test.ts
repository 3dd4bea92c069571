import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { readConfig } from "../../../src/settings/config.js";
import { openVault } from "../../../src/vault/vault.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { expectBooksBalanced } from "../support/simulator-store.js";

const ROWS = 3_000;

describe("an import whose server and command are killed", () => {
  const directory = newDirectory();
  const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) };
  let server: Replica;
  let tenant: TestTenant;
  beforeAll(async () => {
    server = await startReplica(environment);
    tenant = await newTenant(server.url, environment);
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it("stores every row once, with one fingerprint each, and the books balance", async () => {
    const { key } = await tenant.application({ type: "private", permissions: ["token:import", "token:create"] });
    const file = join(directory, "rows.ndjson");
    const row = (index: number) => ({ type: "token", data: `row ${index}`, fingerprint_expression: "{{ data }}" });
    writeFileSync(file, Array.from({ length: ROWS }, (_, index) => `${JSON.stringify(row(index))}\n`).join(""));
    const results = `${file}.results.ndjson`;
    const lines = () => (existsSync(results) ? readFileSync(results, "utf8").split("\n").length - 2 : 0);
    const { url } = server;
    const start = () => {
      const env = { CLOAKROOM_URL: url, CLOAKROOM_API_KEY: key, XDG_CONFIG_HOME: directory, PATH: process.env.PATH };
      return spawn(process.execPath, ["dist/src/main.js", "tokens", "import", file], { env, stdio: "ignore" });
    };

    // Each kill comes once more batches are through; the third time the command goes with the server.
    let command = start();
    for (const [round, isCommandKilled] of [false, false, true].entries()) {
      await expect.poll(lines, { interval: 2 }).toBeGreaterThan(round * 500);
      await server.stop("SIGKILL");
      if (isCommandKilled && command.exitCode === null) {
        command.kill("SIGKILL");
        await once(command, "exit");
      }
      server = await startReplica({ ...environment, CLOAKROOM_PORT: new URL(url).port });
    }
    command = start();
    expect(await once(command, "exit")).toEqual([0, null]);

    const stored = readFileSync(results, "utf8").trimEnd().split("\n").slice(1);
    const rows: { position: number; id: string; fingerprint: string }[] = stored.map((line) => JSON.parse(line));
    expect(rows.map(({ position }) => position)).toEqual(Array.from({ length: ROWS }, (_, index) => index + 1));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(ROWS);
    expect(new Set(rows.map(({ fingerprint }) => fingerprint)).size).toBe(ROWS);
    const config = readConfig(environment);
    await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
    expect((await expectBooksBalanced(vault.ownerAddress, tenant.id)).tokens).toBe(ROWS);
  });
});
