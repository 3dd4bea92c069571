// Writes the vault of test/upgrades/last-release/ with this build: the newest release does, once it is out.
// node --experimental-transform-types --import=./scripts/typescript-sources.js test/upgrades/write-last-release.ts
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillVault } from "./fill-vault.js";

const FOLDER = "test/upgrades/last-release";
const PROGRAM = "dist/src/main.js";

const directory = mkdtempSync(join(tmpdir(), "cloakroom-release-"));
// The account that runs PostgreSQL for root enters it.
chmodSync(directory, 0o755);
const environment = {
  PATH: process.env.PATH,
  CLOAKROOM_DATA_DIR: join(directory, "data"),
  CLOAKROOM_PORT: "0",
  CLOAKROOM_ADMIN_PORT: "0",
};
const run = (...args: readonly string[]) =>
  execFileSync(process.execPath, [PROGRAM, ...args], { env: environment, encoding: "utf8" });
try {
  run("init");
  const tenant = run("tenants", "create", "--name", "Shop", "--owner-email", "owner@example.com", "--json");
  const server = spawn(process.execPath, [PROGRAM, "serve"], {
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(server, "close");
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    server.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const found = /Serving .* at (\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    server.once("exit", () => reject(new Error(`the server did not start:\n${said}`)));
  });
  const { key } = JSON.parse(tenant);
  const readings = await fillVault(url, key).finally(() => server.kill("SIGTERM"));
  await ended;
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  run("export", "--file", join(FOLDER, "vault.export"));
  copyFileSync(join(environment.CLOAKROOM_DATA_DIR, "root.key"), join(FOLDER, "root.key"));
  writeFileSync(join(FOLDER, "readings.json"), `${JSON.stringify({ version, ...readings }, undefined, 2)}\n`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
