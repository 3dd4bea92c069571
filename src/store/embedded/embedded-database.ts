import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { FileLock } from "../../base/file-lock.js";
import { majorsIn } from "./cluster.js";
import { createDataDirectory, locateData } from "./data-location.js";
import { DirectoryLock, describeServer, isLocked, removeServerFile, writeServerFile } from "./directory-lock.js";
import { EmbeddedDatabaseError, toOperatorError } from "./embedded-database-error.js";
import { signalServer } from "./postgres-server.js";
import {
  ANNOUNCE_AFTER_MS,
  type EmbeddedConnection,
  findDatabase,
  type Opening,
  type RunningDatabase,
  SocketUnreachable,
  START_TIMEOUT_MS,
  servingProcess,
  startDatabase,
  stopDatabase,
} from "./running-database.js";
import { truncateLog } from "./server-log.js";

export { EmbeddedDatabaseError } from "./embedded-database-error.js";
export type { EmbeddedConnection } from "./running-database.js";

export interface EmbeddedDatabaseOptions extends Pick<Opening, "packageDir" | "announce"> {
  /** The data directory, absolute or relative to the working directory. */
  readonly dataDir: string;
}

export interface CommandOptions extends EmbeddedDatabaseOptions {
  readonly mayCreate: boolean;
}

/** A real PostgreSQL 18, or the system's version, on a unix socket. */
export interface EmbeddedDatabase extends AsyncDisposable {
  /** For postgres.js. The role owns the database and may create roles, but is not a superuser. */
  readonly connection: EmbeddedConnection;
  /** Whether this start created the database, which is then empty. */
  readonly isNew: boolean;
  /** Where the data is, which may not be the requested directory. */
  readonly dataDir: string;
  readonly logFile: string;
  /** Resolves when PostgreSQL has ended, by `stop` or otherwise. */
  readonly exited: Promise<DatabaseExit>;
  /** Ends this process's use of the database. Calling it twice is safe. */
  stop(): Promise<void>;
}

export interface DatabaseExit {
  /** Whether `stop` was called before. */
  readonly expected: boolean;
  /** A sentence without a full stop, for the operator's log. */
  readonly summary: string;
}

/** How long another process may hold a lock while it only probes it. */
const PROBE_MS = 500;
/** How long to wait for users of a PostgreSQL that is not visible from here: they notice its end, or run elsewhere. */
const UNSEEN_TIMEOUT_MS = { server: 60_000, command: 5_000 };
/** How long an ending command waits to learn whether it is the last one. */
const LEAVE_TIMEOUT_MS = 60_000;
/** How often a server truncates PostgreSQL's log, and opens its session again if it broke. */
const UPKEEP_MS = 60_000;
const POLL_MS = 20;

/**
 * Starts the database for the server of a data directory, or takes over the PostgreSQL that commands or a killed server
 * left running. Its `stop` stops PostgreSQL, even if commands still use it.
 * @throws EmbeddedDatabaseError if another server has it, or it cannot run here; the message is for the operator
 */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  try {
    const location = await locateData(options.dataDir);
    const { dataDir, notice } = location;
    if (notice !== undefined) options.announce(notice);
    await createDataDirectory(location);
    const lock = await tryFor(PROBE_MS, () => DirectoryLock.tryTake(dataDir, "cloakroom.lock"));
    if (!lock) throw inUse(dataDir, describeServer(dataDir));
    await using onFailure = new AsyncDisposableStack();
    onFailure.use(lock);
    onFailure.defer(() => removeServerFile(dataDir));
    writeServerFile(dataDir);
    const running = await findOrStart({ ...options, ...location, as: "server" }, true);
    const owned = onFailure.move();
    // What fails now can work in a minute.
    const upkeep = () => {
      truncateLog(running.cluster.logFile).catch(() => {});
      running.session`select 1`.catch(() => {});
    };
    const timer = setInterval(upkeep, UPKEEP_MS).unref();
    return opened(running, {
      atExit: () => signalServer(running.server, "SIGINT"),
      async leave() {
        clearInterval(timer);
        await stopDatabase(running).finally(() => owned.disposeAsync());
      },
    });
  } catch (error) {
    throw toOperatorError(error, options.dataDir);
  }
}

/**
 * Uses the database for one command: a PostgreSQL that already runs, or one that this call starts. The last command
 * stops it, unless a server uses it.
 * @throws EmbeddedDatabaseError if there is no database and `mayCreate` is false, or it cannot be reached or run here
 */
export async function shareEmbeddedDatabase(options: CommandOptions): Promise<EmbeddedDatabase> {
  try {
    const location = await locateData(options.dataDir);
    const { dataDir, notice } = location;
    // A first server that is creating the database has taken its lock.
    const mayExist = (await majorsIn(dataDir)).length > 0 || existsSync(join(dataDir, "cloakroom.lock"));
    if (!options.mayCreate && !mayExist) throw noVault(dataDir);
    await createDataDirectory(location);
    const running = await findOrStart({ ...options, ...location, as: "command" }, options.mayCreate);
    if (running.isNew && notice !== undefined) options.announce(notice);
    // If PostgreSQL dies, a server must not wait for this command before it starts PostgreSQL again.
    void running.server.ended.then(() => running.use?.release());
    return opened(running, {
      atExit() {
        using startLock = DirectoryLock.tryTake(dataDir, "start.lock");
        running.use?.release();
        if (startLock && isUnused("command", dataDir)) signalServer(running.server, "SIGINT");
      },
      leave: () => leave(running),
    });
  } catch (error) {
    throw toOperatorError(error, options.dataDir);
  }
}

interface UsedDatabase extends RunningDatabase {
  /** A command's share of `users.lock`. */
  readonly use: FileLock | undefined;
}

async function findOrStart(opening: Opening, mayCreate: boolean): Promise<UsedDatabase> {
  const { as, dataDir, announce } = opening;
  const began = Date.now();
  let seenAt = began;
  for (let announced = false; ; await sleep(POLL_MS)) {
    const attempt = await tryToFindOrStart(opening, mayCreate);
    if (typeof attempt === "object") return attempt;
    const now = Date.now();
    if (attempt === "starting") seenAt = now;
    if (now - seenAt > UNSEEN_TIMEOUT_MS[as] || now - began > START_TIMEOUT_MS) throw unreachable(opening);
    if (now - began < ANNOUNCE_AFTER_MS || announced) continue;
    announced = true;
    announce(
      as === "server"
        ? `Waiting for a Cloakroom command to end its work on ${dataDir}.`
        : `Waiting for the database that ${describeServer(dataDir)} is starting.`,
    );
  }
}

/** Fails as `starting` while another process starts, joins or leaves it; as `unseen` if its users' PostgreSQL is not here. */
async function tryToFindOrStart(opening: Opening, mayCreate: boolean): Promise<UsedDatabase | "starting" | "unseen"> {
  const { as, dataDir } = opening;
  using startLock = DirectoryLock.tryTake(dataDir, "start.lock");
  if (!startLock) return "starting";
  const found = await findDatabase(opening).catch((error: unknown) => {
    const isOfServer = error instanceof SocketUnreachable && as === "command" && isLocked(dataDir, "cloakroom.lock");
    throw isOfServer ? unreachable(opening) : error;
  });
  if (!found) {
    if (!isUnused(as, dataDir)) return "unseen";
    if (!mayCreate && (await majorsIn(dataDir)).length === 0) throw noVault(dataDir);
  }
  if (found && as === "server") {
    const other = await servingProcess(found).catch(() => "stopping" as const);
    if (other !== undefined) await found.session.end({ timeout: 0 });
    // PostgreSQL is ending, on a signal that came before this start.
    if (other === "stopping") return "starting";
    if (other !== undefined) throw inUse(dataDir, `another Cloakroom server (pid ${other})`);
  }
  const running = found ?? (await startDatabase(opening));
  if (as === "server") return { ...running, use: undefined };
  const use = DirectoryLock.tryTake(dataDir, "users.lock", "shared");
  if (use) return { ...running, use };
  await running.session.end({ timeout: 0 });
  return "starting";
}

/**
 * Whether no other process uses the database, in any container. While this process holds `start.lock`, no process can
 * start to.
 */
function isUnused(as: Opening["as"], dataDir: string): boolean {
  return !isLocked(dataDir, "users.lock") && (as === "server" || !isLocked(dataDir, "cloakroom.lock"));
}

/** Ends a command's use. Meanwhile `start.lock` keeps other processes from starting or ending theirs. */
async function leave(running: UsedDatabase): Promise<void> {
  const { dataDir } = running.cluster;
  using startLock = await tryFor(LEAVE_TIMEOUT_MS, () => DirectoryLock.tryTake(dataDir, "start.lock"));
  running.use?.release();
  const isLast = startLock !== undefined && isUnused("command", dataDir);
  // If PostgreSQL has ended, no process serves from it.
  const serving = isLast ? await servingProcess(running).catch(() => undefined) : undefined;
  if (isLast && serving === undefined) await stopDatabase(running);
  else await running.session.end({ timeout: 0 });
}

/** @param end `atExit` runs if the process exits without a stop, by an uncaught error or a second Ctrl-C */
function opened(running: RunningDatabase, end: { atExit(): void; leave(): Promise<void> }): EmbeddedDatabase {
  // Before other listeners, which may remove its files.
  process.prependOnceListener("exit", end.atExit);
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= end.leave().finally(() => process.removeListener("exit", end.atExit));
    return stopping;
  };
  return {
    connection: running.connection,
    isNew: running.isNew,
    dataDir: running.cluster.dataDir,
    logFile: running.cluster.logFile,
    exited: running.server.ended.then((summary) => ({ expected: stopping !== undefined, summary })),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function tryFor<T>(timeoutMs: number, attempt: () => T | undefined): Promise<T | undefined> {
  for (const end = Date.now() + timeoutMs; ; await sleep(POLL_MS)) {
    const outcome = attempt();
    if (outcome !== undefined || Date.now() > end) return outcome;
  }
}

function inUse(dataDir: string, user: string): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `${dataDir} is in use by ${user}. Stop that first, or give this server a CLOAKROOM_DATA_DIR of its own.`,
  );
}

function unreachable({ as, dataDir }: Opening): EmbeddedDatabaseError {
  const user = as === "server" ? "a Cloakroom command" : describeServer(dataDir);
  return new EmbeddedDatabaseError(
    `${dataDir} is in use by ${user}, whose database cannot be reached from here.\n` +
      "Run this command where the server runs (docker exec), or stop the server first.",
  );
}

function noVault(dataDir: string): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `There is no vault in ${dataDir}. Set CLOAKROOM_DATA_DIR to the data directory of the server, or DATABASE_URL to its database. To make a new vault here, run: cloakroom init`,
  );
}
