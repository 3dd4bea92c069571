import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyMigratedData } from "./migrated-data.js";
import { newDirectory } from "./new-directory.js";
import { startFlags } from "./start-flags.js";

/** A server in its own process, with its own embedded database, as `npm start` runs it. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  /** The address that serves health besides the main port. */
  readonly adminUrl: string;
  /** The environment for commands next to it. */
  readonly environment: Readonly<Record<string, string>>;
  /** The file that receives the server's output, its messages and the operator's log. */
  readonly logFile: string;
  readonly process: ChildProcess;
  /** Its output so far. */
  said(): string;
  /** Asks it to stop, and returns its exit code; null if a signal ended it. Can be called again. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts a server: about a second. `settings` are names without their prefix; `files` are written into its directory
 * first, and `{directory}` in a setting is replaced by that path. The schema exists already, unless `settings` name a
 * DATA_DIR. `trusted` is a certificate authority, in PEM, that the server trusts for destinations besides the public
 * ones. `preload` is the source of a module that is loaded first.
 */
export async function startServerProcess(
  settings: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
  trusted?: string,
  preload?: string,
): Promise<ServerProcess> {
  const directory = newDirectory();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content, { mode: 0o600 });
  const environment: Record<string, string> = {
    CLOAKROOM_DATA_DIR: join(directory, "data"),
    CLOAKROOM_PORT: "0",
    CLOAKROOM_ADMIN_PORT: "0",
    CLOAKROOM_LOG_LEVEL: "info",
    CLOAKROOM_RATE_LIMITS: "off",
  };
  for (const [name, value] of Object.entries(settings)) {
    environment[`CLOAKROOM_${name}`] = value.replace("{directory}", directory);
  }
  if (settings.DATA_DIR === undefined) copyMigratedData(join(directory, "data"));
  const authorityFile = join(directory, "trusted.pem");
  if (trusted !== undefined) writeFileSync(authorityFile, trusted);
  const trust = trusted === undefined ? {} : { NODE_EXTRA_CA_CERTS: authorityFile };
  const preloadFile = join(directory, "preload.mjs");
  if (preload !== undefined) writeFileSync(preloadFile, preload);
  const flags = [...startFlags(), ...(preload === undefined ? [] : ["--import", preloadFile])];
  const child = spawn(process.execPath, [...flags, "dist/src/main.js", "serve"], {
    env: { PATH: process.env.PATH, ...environment, ...trust },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Not "exit": output may still be in flight then.
  const exited = once(child, "close");
  const logFile = join(directory, "server.log");
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  let isStopping = false;
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    // A second signal would end it at once, with its database still running.
    if (!isStopping && child.exitCode === null && child.signalCode === null) child.kill(signal);
    isStopping = true;
    await exited;
    return child.exitCode;
  };
  const [url, adminUrl] = await listening(child);
  return {
    ...{ url, adminUrl, environment, logFile, process: child },
    said: () => readFileSync(logFile, "utf8"),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      log.end();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The two addresses that the server announces once it accepts requests. */
function listening(child: ChildProcess): Promise<readonly [string, string]> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const url = /Serving .* at (\S+)/.exec(said)?.[1];
      const adminUrl = /Health at (\S+)\/readyz/.exec(said)?.[1];
      if (url && adminUrl) resolve([url, adminUrl]);
    });
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${said}`)));
  });
}
