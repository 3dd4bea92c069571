import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cacheDirectory } from "./template.js";

const START_TIMEOUT_MS = 60_000;

/** Ends the server when the program that started it is gone, however that ended: its end of the pipe closes. */
const END_WITH_PARENT = `data:text/javascript,${encodeURIComponent(
  'process.stdin.on("end", () => process.kill(process.pid, "SIGTERM")).on("error", () => {}).resume(); process.stdin.unref?.();',
)}`;

export interface ServerProcess {
  readonly url: string;
  /** The key of the tenant that the first start made. */
  readonly managementKey: string;
  stop(): Promise<void>;
}

/** Starts the server on a data directory that has no tenant. @throws {Error} with what the server printed. */
export async function startServerProcess(
  program: string,
  dataDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  const own: Record<string, string> = {
    DATA_DIR: dataDir,
    PORT: "0",
    ADMIN_PORT: "0",
    LOG_LEVEL: "error",
    RATE_LIMITS: "off",
    EGRESS_ALLOW: "127.0.0.1",
    ...settings,
  };
  const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(cacheDirectory(), "code") };
  for (const [name, value] of Object.entries(own)) env[`CLOAKROOM_${name}`] = value;
  const child = spawn(process.execPath, ["--import", END_WITH_PARENT, program, "serve"], { env, stdio: "pipe" });
  child.stdin.on("error", () => {});
  child.stdout.resume();
  const stop = () => stopped(child);
  try {
    const url = await serving(child);
    return { url, managementKey: await firstKey(dataDir), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function serving(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const fail = (why: string) => reject(new Error(`The vault did not start: ${why}\n${printed}`));
    const timer = setTimeout(() => fail(`it took longer than ${START_TIMEOUT_MS / 1_000} s.`), START_TIMEOUT_MS);
    child.stderr?.on("data", (chunk: Buffer) => {
      printed += chunk;
      const url = /Serving .* at (\S+)/.exec(printed)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => {
      clearTimeout(timer);
      fail(`it ended with ${code}.`);
    });
  });
}

/** The first start writes it once it serves. */
async function firstKey(dataDir: string): Promise<string> {
  const file = join(dataDir, "first-management-key");
  for (const until = Date.now() + START_TIMEOUT_MS; Date.now() < until; ) {
    if (existsSync(file)) return readFileSync(file, "utf8").trim();
    await sleep(5);
  }
  throw new Error("The vault made no first key.");
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
