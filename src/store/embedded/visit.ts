import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../database-error.js";
import { majorsIn } from "./cluster.js";
import { type DataLocation, locateData, makeDataDirectory } from "./data-location.js";
import { isPassing } from "./database-session.js";
import { DirectoryLock, describeHolder, isNeighbour, readHolder } from "./directory-lock.js";
import type { DatabaseExit, EmbeddedDatabase, EmbeddedDatabaseOptions } from "./embedded-database.js";
import { EmbeddedDatabaseError, inOperatorsWords } from "./embedded-database-error.js";
import { stopAtProcessExit } from "./postgres-server.js";
import { bringUp, joinRunning, type RunningDatabase, shutDown } from "./running-database.js";
import { HIDDEN, PATIENCE, SILENCE } from "./start-or-adopt.js";

/** A new holder writes who it is a moment after it has taken the lock. */
const DOUBT = 1_000;
const POLL = 20;

export interface VisitOptions extends EmbeddedDatabaseOptions {
  /** Whether the database is made where there is none. */
  readonly mayCreate: boolean;
}

/**
 * Uses the database for the length of one command: that of the server which runs, or else one that this call starts and
 * that ends with its last user.
 * @throws EmbeddedDatabaseError when there is no database and none may be made, when it is in use where it cannot be reached
 *   from here, or when it cannot run here
 */
export async function visitEmbeddedDatabase(options: VisitOptions): Promise<EmbeddedDatabase> {
  try {
    const location = await locateData(options.dataDir, options.runAs);
    if (!options.mayCreate) await requireDatabase(location);
    await makeDataDirectory(location);
    return await visit(location, options);
  } catch (error) {
    throw inOperatorsWords(error, options.dataDir);
  }
}

/** A first server that is making the database has announced itself as the holder of the directory. */
async function requireDatabase({ dataDir }: DataLocation): Promise<void> {
  if ((await majorsIn(dataDir)).length === 0 && !readHolder(dataDir)) throw noVault(dataDir);
}

function noVault(dataDir: string): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `There is no vault in ${dataDir}. Set CLOAKROOM_DATA_DIR to the data directory of the server, or DATABASE_URL to its database. To make a new vault here, run: cloakroom init`,
  );
}

async function visit(location: DataLocation, options: VisitOptions): Promise<EmbeddedDatabase> {
  const began = Date.now();
  for (let announced = false; ; await sleep(POLL)) {
    const lock = DirectoryLock.tryTake(location.dataDir, "command");
    if (lock) return startAlone(location, lock, options);
    // The claim fails while the last user is just closing the database.
    const running = await joinRunning(location.dataDir, (session) => session.tryVisit());
    if (typeof running === "object") return visited(location, running, undefined);
    const waited = Date.now() - began;
    const holder = readHolder(location.dataDir);
    if (holder && !isNeighbour(holder) && waited > DOUBT) throw elsewhere(location);
    if (waited > (running === "hidden" ? HIDDEN : PATIENCE)) throw elsewhere(location);
    if (waited > SILENCE && !announced) {
      announced = true;
      options.announce(`Waiting for the database that ${describeHolder(holder)} is starting.`);
    }
  }
}

async function startAlone(
  location: DataLocation,
  lock: DirectoryLock,
  { packageDir, announce, mayCreate }: VisitOptions,
): Promise<EmbeddedDatabase> {
  try {
    // The holder that announced itself may have ended before it made one.
    if (!mayCreate && (await majorsIn(location.dataDir)).length === 0) throw noVault(location.dataDir);
    const running = await bringUp(location, { packageDir, announce, claim: (session) => session.tryVisit() });
    if (running.isNew && location.notice !== undefined) announce(location.notice);
    return visited(location, running, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

function visited(location: DataLocation, running: RunningDatabase, lock: DirectoryLock | undefined): EmbeddedDatabase {
  const undo = lock ? stopAtProcessExit(running.server) : () => {};
  let leaving: Promise<void> | undefined;
  const once = (): Promise<void> => {
    leaving ??= leave(location.dataDir, running, lock).finally(undo);
    return leaving;
  };
  return {
    connection: running.connection,
    isNew: running.isNew,
    dataDir: location.dataDir,
    logFile: running.cluster.logFile,
    exited: running.server.ended.then((summary): DatabaseExit => ({ expected: leaving !== undefined, summary })),
    stop: once,
    [Symbol.asyncDispose]: once,
  };
}

/**
 * The last one out closes the database. Whoever cannot take the lock leaves it to the holder; whoever holds it and finds
 * company leaves it to the company, and looks once more after giving the lock back, since the company may have gone in
 * between. Presence is given up before the lock is tried, so that one of two always sees the other gone.
 */
async function leave(dataDir: string, running: RunningDatabase, held: DirectoryLock | undefined): Promise<void> {
  const { session } = running;
  let lock = held;
  try {
    await session.endVisit();
    lock ??= DirectoryLock.tryTake(dataDir, "command");
    while (lock) {
      if (await session.tryCloseDoors()) return await shutDown(running);
      await session.openDoors();
      lock.release();
      lock = undefined;
      if (!(await session.hasCompany())) lock = DirectoryLock.tryTake(dataDir, "command");
    }
  } catch (error) {
    // The server is going away already, with its owner, or is recovering from a crash that has cut off everybody.
    if (!isPassing(codeOf(error))) throw error;
    if (lock) await shutDown(running);
  } finally {
    await session.end();
    lock?.release();
  }
}

function elsewhere({ dataDir }: DataLocation): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `${dataDir} is in use by ${describeHolder(readHolder(dataDir))}, whose database cannot be reached from here.\n` +
      "Run this command where the server runs (docker exec), or stop the server first.",
  );
}
