import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../src/base/clock.js";
import { type Config, readConfig } from "../../src/settings/config.js";
import type { Vault } from "../../src/vault/vault.js";
import { copyMigratedData } from "./migrated-data.js";
import { newDirectory } from "./new-directory.js";
import { VaultsBeside, vaultsBeside } from "./vaults-beside.js";

/** A server in the test's process: the built program with its own ports. */
export interface ServerHere extends AsyncDisposable {
  readonly url: string;
  /** The address that serves health besides the main port. */
  readonly adminUrl: string;
  /** The environment for commands next to it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly vault: Vault;
  /** Its output so far: messages and the operator's log. */
  said(): string;
  /** Can be called again. */
  stop(): Promise<void>;
}

export interface ServerHereOptions {
  /** Written into its directory first. */
  readonly files?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  /** Parts of the configuration that no setting changes. */
  readonly configure?: (config: Config) => Partial<Config>;
  /** Called with its data directory before the server starts. */
  readonly prepare?: (dataDir: string) => Promise<void>;
}

/** The built program, as a server process runs it: other copies of its modules than those that tests import. */
const BUILT = pathToFileURL(resolve("dist/src/server/start-server.js")).href;

/**
 * Starts a server in this process, for tests of its behaviour under other settings than the shared server's: a third of
 * the processor time of a process. What a test says about the process itself (its signals, exit code, memory, flags and
 * trusted authorities) needs `startServerProcess`. `settings` are names without their prefix, and `{directory}` in one is
 * replaced by the path of its directory. It has no first tenant: make one with `newTenant`.
 */
export async function startServerHere(
  settings: Readonly<Record<string, string>> = {},
  options: ServerHereOptions = {},
): Promise<ServerHere> {
  const { files = {}, prepare } = options;
  await using opened = new AsyncDisposableStack();
  const directory = newDirectory();
  opened.defer(() => rmSync(directory, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content, { mode: 0o600 });
  const environment: Record<string, string> = { CLOAKROOM_DATA_DIR: join(directory, "data") };
  for (const [name, value] of Object.entries(settings)) {
    environment[`CLOAKROOM_${name}`] = value.replace("{directory}", directory);
  }
  if (settings.DATA_DIR === undefined) copyMigratedData(join(directory, "data"));
  await prepare?.(join(directory, "data"));
  const server = opened.use(await serveHere(environment, options));
  const running = opened.move();
  return { ...server, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/**
 * Starts a server in this process as {@link startServerHere} does, on the database and the data directory of this
 * environment, which outlive it. Two of them share their modules: that replicas share nothing needs `startReplica`.
 */
export async function serveHere(
  given: Readonly<Record<string, string>>,
  { clock, configure }: Pick<ServerHereOptions, "clock" | "configure"> = {},
): Promise<ServerHere> {
  const environment = {
    CLOAKROOM_PORT: "0",
    CLOAKROOM_ADMIN_PORT: "0",
    CLOAKROOM_LOG_LEVEL: "info",
    CLOAKROOM_RATE_LIMITS: "off",
    ...given,
  };
  let said = "";
  let adminUrl = "";
  const announce = (line: string) => {
    said += `${line}\n`;
    adminUrl = /Health at (\S+)\/readyz/.exec(line)?.[1] ?? adminUrl;
  };
  const logLines = {
    write(lines: string) {
      said += lines;
    },
  };
  const { startServer }: typeof import("../../src/server/start-server.js") = await import(BUILT);
  const config = readConfig(environment);
  const server = await startServer(
    { ...config, ...configure?.(config) },
    { announce, logLines, ...(clock ? { clock } : {}) },
  );
  const beside = new VaultsBeside();
  vaultsBeside.set(environment, beside);
  const stop = async () => {
    vaultsBeside.delete(environment);
    await beside[Symbol.asyncDispose]();
    await server.stop();
  };
  return {
    ...{ url: server.url, adminUrl, environment, vault: server.vault },
    ...{ said: () => said, stop, [Symbol.asyncDispose]: stop },
  };
}
