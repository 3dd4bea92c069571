import {
  existsSync,
  lchownSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { FileLock } from "../../base/file-lock.js";
import { databaseErrorCode } from "../postgres/database-error.js";
import { EmbeddedDatabaseError, toOperatorError } from "./embedded-database-error.js";

/**
 * The lock files of a data directory:
 * - `cloakroom.lock`, exclusive: the one server of the directory, for its whole life.
 * - `users.lock`, shared: each command that uses PostgreSQL. If it can be locked exclusively, no command does.
 * - `start.lock`, exclusive: the process that starts, joins or leaves PostgreSQL, for as long as that takes.
 */
export type LockFile = "cloakroom.lock" | "users.lock" | "start.lock";

const SERVER_FILE = "server.pid";

/**
 * A lock on an empty file in the data directory. PostgreSQL guards its directory by pid and shared memory, which a process
 * in another container on the same volume cannot see. The file must stay: if it is deleted, two processes can lock it.
 */
export const DirectoryLock = {
  /**
   * Returns undefined if another process, or another caller in this one, holds the lock.
   * @throws EmbeddedDatabaseError if the file system has no locks or the file cannot be created
   */
  tryTake(dataDir: string, name: LockFile, mode: "exclusive" | "shared" = "exclusive"): FileLock | undefined {
    const file = join(dataDir, name);
    try {
      createLockFile(dataDir, file);
      return FileLock.tryTake(file, mode);
    } catch (error) {
      const failure = toOperatorError(error, dataDir);
      if (failure instanceof EmbeddedDatabaseError) throw failure;
      const problem =
        `Cannot lock ${file}. CLOAKROOM_DATA_DIR must be a directory on a local disk that this user may write to.\n` +
        "If that file is anything but an empty file, remove it while no Cloakroom process uses the directory.";
      throw new EmbeddedDatabaseError(problem, { cause: error });
    }
  },
};

/** Whether any process holds the lock. Two processes can ask at once, unless they ask for the shared `users.lock`. */
export function isLocked(dataDir: string, name: LockFile): boolean {
  using lock = DirectoryLock.tryTake(dataDir, name, name === "users.lock" ? "exclusive" : "shared");
  return lock === undefined;
}

/** Notes which process the server is, for messages. Renamed into place: other processes never read a part of it. */
export function writeServerFile(dataDir: string): void {
  const draft = join(dataDir, `${SERVER_FILE}.new`);
  rmSync(draft, { force: true });
  writeOwned(dataDir, draft, [process.pid, pidNamespace(), hostname(), ""].join("\n"));
  renameSync(draft, join(dataDir, SERVER_FILE));
}

export function removeServerFile(dataDir: string): void {
  rmSync(join(dataDir, SERVER_FILE), { force: true });
}

/** The server of the directory, for messages. A killed server leaves its file behind, but not its lock. */
export function describeServer(dataDir: string): string {
  const [pid, namespace, host] = isLocked(dataDir, "cloakroom.lock") ? readServerFile(dataDir) : [];
  if (!pid || host === undefined) return "another Cloakroom process";
  if (host === hostname() && namespace === pidNamespace()) return `another Cloakroom server (pid ${pid})`;
  return `another Cloakroom server (in another container or host, ${host})`;
}

function readServerFile(dataDir: string): readonly string[] {
  try {
    return readFileSync(join(dataDir, SERVER_FILE), "utf8").split("\n");
  } catch {
    return [];
  }
}

function createLockFile(dataDir: string, file: string): void {
  try {
    writeOwned(dataDir, file, "");
  } catch (error) {
    if (databaseErrorCode(error) !== "EEXIST") throw error;
    if (!lstatSync(file).isFile()) throw new Error("not a regular file");
  }
}

/** Writes a new file for the owner of the directory, who must be able to lock it after root did. Follows no link. */
function writeOwned(dataDir: string, file: string, content: string): void {
  writeFileSync(file, content, { mode: 0o600, flag: "wx" });
  const { uid, gid } = statSync(dataDir);
  if (process.geteuid?.() === 0) lchownSync(file, uid, gid);
}

/** Processes in another pid namespace share the directory, but not our pids. Empty on macOS, which has none. */
function pidNamespace(): string {
  return existsSync("/proc/self/ns/pid") ? readlinkSync("/proc/self/ns/pid") : "";
}
