import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { startFlags } from "../support/start-flags.js";
import { childOf } from "./processor-time.js";

/** A server under measurement: a process of its own, as `npm start` runs it. */
export interface BenchServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** The address of its metrics. @throws Error if it did not announce one. */
  adminUrl(): string;
  /** The postmaster of its embedded database. */
  readonly databasePid: number;
  readonly dataDir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly managementKey: string;
  /** Its log and the output of `--trace-gc`, apart from its log of problems. */
  readonly output: Readable;
}

export interface StartOptions {
  /** It prints its management key because it has no tenant yet. */
  readonly isFirst?: boolean;
  /** The checkout whose build is started. */
  readonly build?: string;
  /** Options for Node, besides those of `npm start`. */
  readonly flags?: readonly string[];
}

/** An external database. */
export interface OtherDatabase {
  readonly postmaster: number;
  /** The server that set it up: another server on it uses the same key and tenant. */
  readonly beside?: Pick<BenchServer, "dataDir" | "managementKey">;
}

/**
 * Starts a server without rate limits, with the given settings, on an empty embedded database unless `settings` name
 * another.
 */
export async function startBenchServer(
  settings: Readonly<Record<string, string>> = {},
  other?: OtherDatabase,
  { isFirst = other?.beside === undefined, build = process.cwd(), flags = [] }: StartOptions = {},
): Promise<BenchServer> {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-bench-"));
  // PostgreSQL's own account must be able to enter, or root's database would go to a folder that is never removed.
  chmodSync(directory, 0o755);
  const dataDir = join(directory, "data");
  const environment = {
    CLOAKROOM_DATA_DIR: dataDir,
    CLOAKROOM_PORT: "0",
    CLOAKROOM_ADMIN_PORT: "0",
    CLOAKROOM_RATE_LIMITS: "off",
    ...settings,
    ...(other?.beside ? { CLOAKROOM_DATA_DIR: other.beside.dataDir } : {}),
  };
  const server = spawn(process.execPath, [...startFlags(build), ...flags, "dist/src/main.js", "serve"], {
    cwd: build,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = server.stdout.setEncoding("utf8");
  output.resume();
  const { url, adminUrl, key = other?.beside?.managementKey ?? "" } = await greeting(server, isFirst);
  const { hostname, port } = new URL(url);
  return {
    host: hostname,
    port: Number(port),
    pid: server.pid ?? 0,
    adminUrl,
    databasePid: other?.postmaster ?? childOf(server.pid ?? 0),
    output,
    ...{ dataDir: environment.CLOAKROOM_DATA_DIR, environment, managementKey: key },
    async [Symbol.asyncDispose]() {
      server.kill("SIGTERM");
      if (server.exitCode === null) await once(server, "exit");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Greeting {
  readonly url: string;
  readonly key: string | undefined;
  /** It is printed last. */
  adminUrl(): string;
}

function greeting(process: ChildProcess, isFirst: boolean): Promise<Greeting> {
  return new Promise((resolve, reject) => {
    let said = "";
    const adminUrl = () => {
      const told = /Health at (\S+)\/readyz/.exec(said)?.[1];
      if (told === undefined) throw new Error("the server has not said where its metrics are");
      return told;
    };
    process.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const url = /Serving .* at (\S+)/.exec(said)?.[1];
      const key = firstKeyIn(said);
      if (url && (key || !isFirst)) resolve({ url, key, adminUrl });
    });
    process.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
}

/** Earlier commits print the first tenant's key; later ones print the path of the file that contains it. */
function firstKeyIn(said: string): string | undefined {
  const file = /^ +(\S+\/first-management-key)$/m.exec(said)?.[1];
  return file === undefined ? /key_\S+/.exec(said)?.[0] : readFileSync(file, "utf8").trim();
}
