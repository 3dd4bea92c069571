import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../database-error.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { childEnvironment, type PostgresBinaries } from "./postgres-binaries.js";
import { isAlive, isServerOf } from "./process-identity.js";
import type { ServerAccount } from "./server-account.js";

/** How long a server gets to stop when asked kindly, and once more when asked to drop everything, in milliseconds. */
const GRACE = 30_000;

/** A running PostgreSQL server process, whether this process started it or found it. */
export interface PostgresServer {
  readonly pid: number;
  readonly origin: "started" | "adopted";
  /** Resolves when the process is gone, with a sentence that says how. */
  readonly ended: Promise<string>;
  hasEnded(): boolean;
  /** Asks the server to stop, without waiting and without a word if it is gone. */
  signal(signal: "SIGINT" | "SIGQUIT"): void;
}

/**
 * Starts `postgres`. It leads a session of its own, so that Ctrl-C in a terminal reaches us alone and requests in flight
 * can end first, and it keeps no reference that would hold this process up.
 */
export function startServer(
  binaries: PostgresBinaries,
  args: readonly string[],
  account: ServerAccount,
  stderr: number,
): PostgresServer {
  const child = spawn(binaries.postgres, args, {
    ...account.spawnAs,
    cwd: "/",
    env: childEnvironment(),
    detached: true,
    stdio: ["ignore", stderr, stderr],
  });
  child.unref();
  let gone = false;
  const ended = endOf(child).then((how) => {
    gone = true;
    return how;
  });
  return {
    pid: child.pid ?? 0,
    origin: "started",
    ended,
    hasEnded: () => gone,
    // A child that has been waited for is not signalled any more, so that its pid can be nobody else's.
    signal: (signal) => void child.kill(signal),
  };
}

/** A server that somebody else started: the orphan of a killed owner, or the one of a running owner. */
export function adoptServer(pid: number, data: string): PostgresServer {
  let gone = false;
  const ended = new Promise<string>((resolve) => {
    const timer = setInterval(() => {
      if (isAlive(pid)) return;
      clearInterval(timer);
      gone = true;
      resolve("PostgreSQL ended");
    }, 100).unref();
  });
  return {
    pid,
    origin: "adopted",
    ended,
    hasEnded: () => gone || !isAlive(pid),
    signal: (signal) => {
      if (isServerOf(pid, data)) kill(pid, signal);
    },
  };
}

/**
 * Stops the server: SIGINT rolls open transactions back and writes a checkpoint; SIGQUIT, after the grace, leaves recovery
 * to the next start. Never SIGKILL, which would leave shared memory and backends behind.
 * @throws EmbeddedDatabaseError when the server withstands both
 */
export async function stopServer(server: PostgresServer, grace = GRACE): Promise<void> {
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    server.signal(signal);
    for (const end = Date.now() + grace; Date.now() < end; await sleep(5)) {
      if (server.hasEnded()) return;
    }
  }
  throw new EmbeddedDatabaseError(
    `PostgreSQL (pid ${server.pid}) did not stop within ${(2 * grace) / 1000} s and still runs. The next start takes it over; to end it now: kill -QUIT ${server.pid}`,
  );
}

/** Stops the server if this process ends on its own: by an uncaught error, or a second Ctrl-C. Returns the undoing. */
export function stopAtProcessExit(server: PostgresServer): () => void {
  const onExit = (): void => server.signal("SIGINT");
  process.once("exit", onExit);
  return () => process.removeListener("exit", onExit);
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(`PostgreSQL could not be started (${codeOf(error)})`));
    child.once("exit", (code, signal) =>
      resolve(signal ? `PostgreSQL was ended by ${signal}` : `PostgreSQL ended with exit code ${code}`),
    );
  });
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}
