import {
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
import { DatabaseSync } from "node:sqlite";
import { codeOf } from "../database-error.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";

/** What the holder does: `server` for as long as Cloakroom serves, `command` for the length of one command. */
export type Holding = "server" | "command";

/** Who holds the lock, for messages and for telling whether waiting makes sense. */
export interface Holder {
  readonly pid: number;
  readonly holding: Holding;
  readonly host: string;
  /** Processes of other pid namespaces can share the directory, but see neither our pids nor our sockets. */
  readonly pidNamespace: string;
}

/** SQLite's result code for a lock that another connection holds. */
const SQLITE_BUSY = 5;

/**
 * The exclusive right to start and stop the database of a data directory.
 *
 * PostgreSQL guards its directory by pid and shared memory, which a second container on the same volume sees nothing of.
 * A POSIX record lock is seen by every process on the kernel and goes away with its holder however that dies. Node has no
 * call for one; an exclusive SQLite transaction on an empty file is one. The file stays: a lock file that is deleted can
 * be locked twice. Nothing else in this process may open it: closing any descriptor of a file drops the process's locks.
 */
export class DirectoryLock {
  readonly #database: DatabaseSync;
  readonly #dataDir: string;
  #held = true;

  private constructor(database: DatabaseSync, dataDir: string) {
    this.#database = database;
    this.#dataDir = dataDir;
  }

  /**
   * Takes the lock, or returns nothing when another process, or another start in this one, holds it.
   * @throws EmbeddedDatabaseError when the file system has no locks, or the file cannot be made
   */
  static tryTake(dataDir: string, holding: Holding): DirectoryLock | undefined {
    const file = join(dataDir, "cloakroom.lock");
    let database: DatabaseSync | undefined;
    try {
      makeFile(dataDir, file);
      database = new DatabaseSync(file, { timeout: 0 });
      database.exec("begin exclusive");
    } catch (error) {
      database?.close();
      if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) return undefined;
      throw new EmbeddedDatabaseError(
        `Cannot lock ${file}. CLOAKROOM_DATA_DIR must be a directory on a local disk that this user may write to.`,
        { cause: error },
      );
    }
    const lock = new DirectoryLock(database, dataDir);
    try {
      writeHolder(dataDir, holding);
    } catch (error) {
      lock.release();
      throw error;
    }
    return lock;
  }

  release(): void {
    if (!this.#held) return;
    this.#held = false;
    rmSync(holderFile(this.#dataDir), { force: true });
    this.#database.close();
  }
}

/** The last holder, who may be gone: only a lock that cannot be taken makes it the present one. */
export function readHolder(dataDir: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(holderFile(dataDir), "utf8"));
    return isHolder(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the holder's processes and sockets can be seen from here. */
export function isNeighbour(holder: Holder): boolean {
  return holder.host === hostname() && holder.pidNamespace === pidNamespace();
}

/** `another cloakroom server (pid 12)`, for messages. */
export function describeHolder(holder: Holder | undefined): string {
  if (holder === undefined) return "another Cloakroom process";
  const what = holder.holding === "server" ? "another Cloakroom server" : "a Cloakroom command";
  return isNeighbour(holder) ? `${what} (pid ${holder.pid})` : `${what} (in another container or host, ${holder.host})`;
}

/** What a second server is told. */
export function inUse(dataDir: string, holder: Holder | undefined): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `${dataDir} is in use by ${describeHolder(holder)}. Stop that first, or give this server a CLOAKROOM_DATA_DIR of its own.`,
  );
}

function writeHolder(dataDir: string, holding: Holding): void {
  const holder: Holder = { pid: process.pid, holding, host: hostname(), pidNamespace: pidNamespace() };
  const draft = `${holderFile(dataDir)}.new`;
  rmSync(draft, { force: true });
  writeNew(dataDir, draft, JSON.stringify(holder));
  renameSync(draft, holderFile(dataDir));
}

/** Makes the empty file that is locked. Closing it drops no lock of this process: there was nothing to lock before. */
function makeFile(dataDir: string, file: string): void {
  try {
    writeNew(dataDir, file, "");
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    if (!lstatSync(file).isFile()) throw new Error("not a regular file");
  }
}

/**
 * Only the owner of the directory may open it: a reader could hold a shared lock, and a root process beside a user's server
 * must not leave files that the user cannot use. Follows no link that the user may have put there.
 */
function writeNew(dataDir: string, file: string, content: string): void {
  writeFileSync(file, content, { mode: 0o600, flag: "wx" });
  const { uid, gid } = statSync(dataDir);
  if (process.geteuid?.() === 0) lchownSync(file, uid, gid);
}

function holderFile(dataDir: string): string {
  return join(dataDir, "holder.json");
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // No /proc: macOS, where all processes share one.
    return "";
  }
}

function isHolder(value: unknown): value is Holder {
  return (
    typeof value === "object" &&
    value !== null &&
    "pid" in value &&
    typeof value.pid === "number" &&
    "host" in value &&
    typeof value.host === "string" &&
    "pidNamespace" in value &&
    typeof value.pidNamespace === "string" &&
    "holding" in value &&
    (value.holding === "server" || value.holding === "command")
  );
}
