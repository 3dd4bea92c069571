import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { databaseErrorCode } from "../postgres/database-error.js";
import { readFileIfExists } from "./cluster.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import type { ServerAccount } from "./server-account.js";
import { childEnvironment } from "./server-settings.js";

/** How long a fast shutdown, and then an immediate one, may take. */
const STOP_TIMEOUT_MS = 30_000;
const WATCH_MS = 250;

export interface PostgresServer {
  readonly pid: number;
  readonly data: string;
  readonly isRunning: boolean;
  /** Resolves when the process is gone, with a sentence that says how it ended. */
  readonly ended: Promise<string>;
}

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** Undefined until the server has opened its socket. */
  readonly socketDirectory: string | undefined;
  /** Whether the server accepts connections. `pg_ctl -w` reads the same line. */
  readonly isReady: boolean;
}

export interface PostgresStart {
  readonly postgres: string;
  readonly data: string;
  readonly settings: readonly string[];
  readonly account: ServerAccount;
  readonly log: number;
}

/**
 * Starts `postgres` on a data directory. It leads its own session: Ctrl-C in a terminal reaches only this process,
 * which first finishes its requests, and the server outlives this process if that is killed.
 */
export function startPostgres({ postgres, data, settings, account, log }: PostgresStart): PostgresServer {
  const options = { ...account.spawnAs, cwd: "/", env: childEnvironment(), detached: true } as const;
  const child = spawn(postgres, ["-D", data, ...settings], { ...options, stdio: ["ignore", log, log] });
  child.unref();
  const ended = once(child, "exit").then(
    ([code, signal]) => (signal ? `PostgreSQL was ended by ${signal}` : `PostgreSQL ended with exit code ${code}`),
    (error: unknown) => `PostgreSQL could not be started (${databaseErrorCode(error)})`,
  );
  return {
    pid: child.pid ?? 0,
    data,
    ended,
    // Not by its command line: that is empty until the kernel has loaded the program, which spawn() does not wait for.
    get isRunning() {
      return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
    },
  };
}

/** A server that another process started. */
export function existingServer(pid: number, data: string): PostgresServer {
  const ended = new Promise<string>((resolve) => {
    const timer = setInterval(() => {
      if (isServerOn(pid, data)) return;
      clearInterval(timer);
      resolve("PostgreSQL ended");
    }, WATCH_MS).unref();
  });
  return {
    pid,
    data,
    ended,
    get isRunning() {
      return isServerOn(pid, data);
    },
  };
}

/**
 * Stops the server like `pg_ctl stop -m fast`, which rolls back open transactions and writes a checkpoint; if that takes too
 * long, like `-m immediate`, which leaves recovery to the next start. Never by SIGKILL, which leaves shared memory behind.
 * @throws EmbeddedDatabaseError if the server still runs after both
 */
export async function stopServer(server: PostgresServer, timeoutMs = STOP_TIMEOUT_MS): Promise<void> {
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    signalServer(server, signal);
    for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(10)) {
      if (!server.isRunning) return;
    }
  }
  throw new EmbeddedDatabaseError(
    `PostgreSQL (pid ${server.pid}) did not stop within ${(2 * timeoutMs) / 1000} s and still runs. The next start takes it over; to end it now: kill -QUIT ${server.pid}`,
  );
}

/** Sends a signal, without effect if the server is gone. */
export function signalServer(server: PostgresServer, signal: "SIGINT" | "SIGQUIT"): void {
  try {
    if (server.isRunning) process.kill(server.pid, signal);
  } catch (error) {
    if (databaseErrorCode(error) !== "ESRCH") throw error;
  }
}

/**
 * Whether the process is the server of the data directory. A pid alone proves nothing: after a crash, and after each restart
 * of a container, another process may have it, which `pg_ctl` then takes for the server, and signals. Backends and zombies have
 * other command lines.
 */
export function isServerOn(pid: number, data: string): boolean {
  return pid > 0 && commandLine(pid).includes(`postgres -D ${data} `);
}

/** Empty if there is no such process, and for a zombie. */
export function commandLine(pid: number): string {
  try {
    if (process.platform === "linux") return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
  } catch {
    return "";
  }
}

/**
 * The server that runs on the data directory, in this pid namespace.
 * @throws EmbeddedDatabaseError if the data directory is open in single-user mode
 */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const [first = "", , , port, socketDirectory, , , status] = await readPidFile(data);
  const pid = Number.parseInt(first, 10);
  // Single-user mode writes its pid negated.
  if (pid < 0 && /postgres --single /.test(commandLine(-pid))) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL is open in single-user mode on ${data} (pid ${-pid}). End that first, then start again.`,
    );
  }
  if (!isServerOn(pid, data)) return undefined;
  return { pid, port: Number(port), socketDirectory: socketDirectory || undefined, isReady: status === "ready" };
}

/**
 * Removes the `postmaster.pid` of a server that is gone, and returns the socket directory that it names. PostgreSQL itself
 * refuses to start if another process of its account has the pid now, which is common in containers, or if a power cut
 * left the file empty. It still checks its shared memory for survivors. The caller holds `start.lock`.
 */
export async function removeStalePidFile(data: string): Promise<string | undefined> {
  const [, , , , socketDirectory] = await readPidFile(data);
  if (await findPostmaster(data)) return undefined;
  await rm(join(data, "postmaster.pid"), { force: true });
  return socketDirectory;
}

async function readPidFile(data: string): Promise<readonly string[]> {
  const text = (await readFileIfExists(join(data, "postmaster.pid"))) ?? "";
  return text.split("\n").map((line) => line.trim());
}
