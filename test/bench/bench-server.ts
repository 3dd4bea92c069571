import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { childOf } from "./processor-time.js";

/** A server under measurement: a process of its own, as `npm start` runs it. */
export interface BenchServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** The postmaster of its embedded database. */
  readonly databasePid: number;
  readonly dataDir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly managementKey: string;
}

/** Starts a server on an empty embedded database, rate limits off, with what its configuration should say besides. */
export async function startBenchServer(settings: Readonly<Record<string, string>> = {}): Promise<BenchServer> {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-bench-"));
  const dataDir = join(directory, "data");
  const environment = {
    CLOAKROOM_DATA_DIR: dataDir,
    CLOAKROOM_PORT: "0",
    CLOAKROOM_ADMIN_PORT: "0",
    CLOAKROOM_RATE_LIMITS: "off",
    ...settings,
  };
  const process = spawn(globalThis.process.execPath, ["--max-semi-space-size=8", "dist/src/main.js", "serve"], {
    env: { PATH: globalThis.process.env.PATH, ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const { url, key } = await greeting(process);
  const { hostname, port } = new URL(url);
  return {
    host: hostname,
    port: Number(port),
    pid: process.pid ?? 0,
    databasePid: childOf(process.pid ?? 0),
    ...{ dataDir, environment, managementKey: key },
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      if (process.exitCode === null) await once(process, "exit");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function greeting(process: ChildProcess): Promise<{ url: string; key: string }> {
  return new Promise((resolve, reject) => {
    let said = "";
    process.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const url = /Serving .* at (\S+)/.exec(said)?.[1];
      const key = /key_\S+/.exec(said)?.[0];
      if (url && key) resolve({ url, key });
    });
    process.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
}
