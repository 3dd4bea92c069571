import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the shared server listens. */
    serverUrl: string;
    /** What commands beside the shared server need in their environment. */
    serverEnvironment: Record<string, string>;
    /** What the shared server printed, growing. */
    serverLog: string;
  }
}

/** One server with one embedded database for the whole run, as `npm start` runs it. Each test file has a tenant of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-test-"));
  const environment = {
    CLOAKROOM_DATA_DIR: join(directory, "data"),
    CLOAKROOM_PORT: "0",
    CLOAKROOM_ADMIN_PORT: "0",
    CLOAKROOM_LOG_LEVEL: "info",
  };
  const server = spawn(process.execPath, ["dist/src/main.js", "serve"], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { createWriteStream } = await import("node:fs");
  const log = createWriteStream(join(directory, "server.log"));
  server.stdout.pipe(log);
  const url = await listening(server, log);
  project.provide("serverUrl", url);
  project.provide("serverEnvironment", environment);
  project.provide("serverLog", join(directory, "server.log"));
  return async () => {
    server.kill("SIGTERM");
    if (server.exitCode === null) await once(server, "exit");
    rmSync(directory, { recursive: true, force: true });
  };
}

function listening(server: ChildProcess, log: NodeJS.WritableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stderr?.on("data", (chunk: Buffer) => {
      log.write(chunk);
      said += chunk.toString();
      const url = /Serving .* at (\S+)/.exec(said)?.[1];
      if (url) resolve(url);
    });
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${said}`)));
  });
}
