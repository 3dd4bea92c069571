import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../database-error.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { isServerOf } from "./process-identity.js";

/** What a server wrote into `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** Absent while the server is still opening its sockets, or has none. */
  readonly socketDirectory: string | undefined;
  readonly ready: boolean;
}

/**
 * The server that runs on this data directory, seen from this pid namespace.
 * @throws EmbeddedDatabaseError when somebody has opened the directory in single-user mode
 */
export async function livingPostmaster(data: string): Promise<Postmaster | undefined> {
  const lines = (await readPostmasterFile(data))?.split("\n") ?? [];
  const pid = Number.parseInt(lines[0] ?? "", 10);
  // Single-user mode writes its pid negated.
  if (!Number.isSafeInteger(pid) || pid === 0 || !isServerOf(Math.abs(pid), data)) return undefined;
  if (pid < 0) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL is open in single-user mode on ${data} (pid ${-pid}). End that first, then start again.`,
    );
  }
  return {
    pid,
    port: Number.parseInt(lines[3] ?? "", 10),
    socketDirectory: lines[4]?.trim() || undefined,
    ready: lines[7]?.trim() === "ready",
  };
}

/**
 * Removes a `postmaster.pid` whose server is gone, and returns the socket directory that it named. PostgreSQL does so
 * itself, unless the pid has gone to another process of the same account (usual in containers, where pids begin at 1), or
 * a power cut has left the file empty: then it refuses to start for ever. The caller holds the directory lock, so that no
 * server of ours can start meanwhile, and PostgreSQL still checks its shared memory for a survivor.
 */
export async function clearStalePostmaster(data: string): Promise<string | undefined> {
  const before = await readPostmasterFile(data);
  if (before === undefined || (await livingPostmaster(data)) !== undefined) return undefined;
  if ((await readPostmasterFile(data)) === before) await rm(join(data, "postmaster.pid"), { force: true });
  return before.split("\n")[4]?.trim() || undefined;
}

async function readPostmasterFile(data: string): Promise<string | undefined> {
  try {
    return await readFile(join(data, "postmaster.pid"), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
