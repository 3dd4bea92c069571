import { setTimeout as sleep } from "node:timers/promises";
import { type DataLocation, locateData, makeDataDirectory } from "./data-location.js";
import type { EmbeddedConnection } from "./database-session.js";
import { DirectoryLock, describeHolder, inUse, readHolder } from "./directory-lock.js";
import { inOperatorsWords } from "./embedded-database-error.js";
import { Ownership } from "./ownership.js";
import { stopAtProcessExit } from "./postgres-server.js";
import { bringUp, type RunningDatabase, shutDown } from "./running-database.js";
import { ServerLog } from "./server-log.js";

export type { EmbeddedConnection } from "./database-session.js";
export { EmbeddedDatabaseError } from "./embedded-database-error.js";

export interface EmbeddedDatabaseOptions {
  /** Where the database is to be kept, absolute or relative to the working directory. */
  readonly dataDir: string;
  /** As root: the user (name, `uid` or `uid:gid`) to run PostgreSQL as. Absent: the owner of the data, or a usual one. */
  readonly runAs?: string;
  /** The platform package with PostgreSQL's programs. Absent: the installed one. */
  readonly packageDir?: string;
  /** Takes lines for the operator. */
  announce(line: string): void;
}

/** A real PostgreSQL 18, or what the system has, on a unix socket, run by this process or beside it. */
export interface EmbeddedDatabase extends AsyncDisposable {
  /** For postgres.js. The role owns the database and may create roles; it is no superuser. */
  readonly connection: EmbeddedConnection;
  /** The database was made in this start: it is empty. */
  readonly isNew: boolean;
  /** Where the data really is, which may not be where it was asked for. */
  readonly dataDir: string;
  /** What PostgreSQL says, for messages that point there. */
  readonly logFile: string;
  /** Resolves when the database is gone: after `stop`, or by itself, which its owner must take as the end. */
  readonly exited: Promise<DatabaseExit>;
  /** Ends our use of the database, and the database itself when we own it or were its last user. Can be called again. */
  stop(): Promise<void>;
}

export interface DatabaseExit {
  /** `stop` was called before. */
  readonly expected: boolean;
  /** A sentence without a full stop, for the operator's log. */
  readonly summary: string;
}

/** How long a server waits for a running command to end, in milliseconds. */
const COMMAND_PATIENCE = 60_000;
/** How long a lock may be held by nobody in particular: its holder is just coming or going. In milliseconds. */
const HANDOVER = 1_000;
/** How often the size of PostgreSQL's log is looked at, in milliseconds. */
const LOG_CHECK = 60_000;

/**
 * Starts the database of a data directory and owns it until `stop`, making it if there is none and taking over a server
 * that a killed owner left behind.
 * @throws EmbeddedDatabaseError when another process owns it, or it cannot run here; the message is for the operator
 */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  try {
    const location = await locateData(options.dataDir, options.runAs);
    if (location.notice !== undefined) options.announce(location.notice);
    await makeDataDirectory(location);
    const lock = await takeLock(location, options);
    try {
      return await own(location, lock, options);
    } catch (error) {
      lock.release();
      throw error;
    }
  } catch (error) {
    throw inOperatorsWords(error, options.dataDir);
  }
}

async function own(
  location: DataLocation,
  lock: DirectoryLock,
  { packageDir, announce }: EmbeddedDatabaseOptions,
): Promise<EmbeddedDatabase> {
  const running = await bringUp(location, { packageDir, announce, claim: (session) => session.tryOwn() });
  const ownership = new Ownership(running);
  const undo = [stopAtProcessExit(running.server), boundLog(running)];
  let stopping: Promise<void> | undefined;
  const exited = Promise.race([running.server.ended, ownership.lost]).then(
    (summary): DatabaseExit => ({ expected: stopping !== undefined, summary }),
  );
  const stop = async (): Promise<void> => {
    try {
      await ownership.release();
      if (!ownership.isLost) await shutDown(running);
    } finally {
      for (const step of undo) step();
      lock.release();
    }
  };
  const once = (): Promise<void> => {
    stopping ??= stop();
    return stopping;
  };
  return {
    connection: running.connection,
    isNew: running.isNew,
    dataDir: location.dataDir,
    logFile: running.cluster.logFile,
    exited,
    stop: once,
    [Symbol.asyncDispose]: once,
  };
}

async function takeLock({ dataDir }: DataLocation, { announce }: EmbeddedDatabaseOptions): Promise<DirectoryLock> {
  const began = Date.now();
  for (let announced = false; ; await sleep(50)) {
    const lock = DirectoryLock.tryTake(dataDir, "server");
    if (lock) return lock;
    const holder = readHolder(dataDir);
    const patience = holder === undefined ? HANDOVER : holder.holding === "command" ? COMMAND_PATIENCE : 0;
    if (Date.now() - began >= patience) throw inUse(dataDir, holder);
    if (holder === undefined || announced) continue;
    announced = true;
    announce(`Waiting for ${describeHolder(holder)} to end its work on ${dataDir}.`);
  }
}

/** Keeps the log within its bounds. Returns the undoing. */
function boundLog({ cluster }: RunningDatabase): () => void {
  // A log that cannot be cut now can be cut in a minute.
  const timer = setInterval(() => void new ServerLog(cluster.logFile).bound().catch(() => {}), LOG_CHECK).unref();
  return () => clearInterval(timer);
}
