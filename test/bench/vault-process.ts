import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { startFlags } from "../support/start-flags.js";

/** Starts a vault that is killed. @param ready what it says once it serves. */
export async function startServer(
  environment: Readonly<Record<string, string | undefined>>,
  ready: RegExp,
): Promise<ChildProcess> {
  const server = spawn(process.execPath, [...startFlags(), "dist/src/main.js", "serve"], {
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    server.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (ready.test(said)) resolve();
    });
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  return server;
}

export async function killed(process_: ChildProcess): Promise<void> {
  if (process_.exitCode !== null) return;
  process_.kill("SIGKILL");
  await once(process_, "exit");
}

/** The embedded database of a vault. It is no child of a server that found it running. */
export function postmasterOf(dataDir: string): number {
  return Number(readFileSync(join(dataDir, "pg18", "data", "postmaster.pid"), "utf8").split("\n")[0]);
}

export async function newKey(url: string, managementKey: string, application: object): Promise<string> {
  const { key } = await call(`${url}/applications`, managementKey, { method: "POST", body: application });
  return String(key);
}

export async function call(
  address: string,
  key: string,
  { method, body }: { readonly method: string; readonly body: object },
): Promise<{ readonly key?: unknown }> {
  const headers = { "BT-API-KEY": key, "Content-Type": "application/json" };
  const response = await fetch(address, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${address} returned ${response.status}`);
  return Object(await response.json());
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (typeof address !== "object" || address === null) throw new Error("a port has no address");
  return address.port;
}
