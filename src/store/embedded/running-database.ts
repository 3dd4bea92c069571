import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { codeOf } from "../postgres/database-error.js";
import { installedPackage, removeOldCopies } from "./bundled-postgres.js";
import { assertMajor, type Cluster, clusterIn, majorsIn, readPassword, repairPermissions } from "./cluster.js";
import { createCluster, DATABASE, ROLE } from "./create-cluster.js";
import type { DataLocation } from "./data-location.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { findPostgres } from "./find-postgres.js";
import {
  findPostmaster,
  foundServer,
  isServerOf,
  type PostgresServer,
  removeStalePidFile,
  signalServer,
  startServer,
  stopServer,
} from "./postgres-server.js";
import type { ServerAccount } from "./server-account.js";
import { lastFailure, openLog, truncateLog } from "./server-log.js";
import { availableMemory, serverSettings } from "./server-settings.js";
import { createSocketDirectory, PORT, removeSocketDirectory } from "./socket-directory.js";

/** Options for postgres.js. */
export interface EmbeddedConnection {
  /** The directory of the unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password: string;
}

/** A server that accepts connections. */
export interface RunningDatabase {
  readonly server: PostgresServer;
  readonly connection: EmbeddedConnection;
  readonly cluster: Cluster;
  /** initdb ran in this start. */
  readonly isNew: boolean;
}

export type Announce = (line: string) => void;

/** How long crash recovery may take: it replays up to max_wal_size, on a slow disk for minutes. */
export const START_TIMEOUT_MS = 15 * 60_000;
/** After this time the operator gets an explanation of the delay. */
export const ANNOUNCE_AFTER_MS = 5_000;
/** How long the socket of a server that accepts connections may be missing. */
const SOCKET_TIMEOUT_MS = 5_000;
/** How long the backends of a killed server may hold its shared memory. */
const SHARED_MEMORY_TIMEOUT_MS = 30_000;
const POLL_MS = 10;

/** Failures to connect while a server starts, recovers or stops. */
const TRANSIENT = /^(ENOENT|ECONNREFUSED|ECONNRESET|EPIPE|CONNECTION_\w+|CONNECT_TIMEOUT|57P0[123]|53300)$/;

/** The server runs, but this process cannot reach its socket. */
export class SocketUnreachable extends EmbeddedDatabaseError {}

/**
 * Finds the server that already runs here: another process's, or one that outlived a killed process. Waits until it
 * accepts connections. Returns undefined if no server runs. The caller holds `start.lock`.
 * @throws EmbeddedDatabaseError if it runs and cannot be used
 */
export async function findDatabase(dataDir: string, announce: Announce): Promise<RunningDatabase | undefined> {
  const [major] = await majorsIn(dataDir);
  if (major === undefined) return undefined;
  const cluster = clusterIn(dataDir, major);
  const postmaster = await findPostmaster(cluster.data);
  if (!postmaster) return undefined;
  const server = foundServer(postmaster.pid, cluster.data);
  const connection = await untilReady(server, cluster, announce);
  return connection && { server, connection, cluster, isNew: false };
}

/**
 * Starts the server, after creating the database if it does not exist. The caller holds `start.lock`, and no other
 * process uses the database.
 * @throws EmbeddedDatabaseError if that fails; then no server is left running
 */
export async function startDatabase(
  location: DataLocation,
  packageDir: string | undefined,
  announce: Announce,
): Promise<RunningDatabase> {
  const { dataDir, account } = location;
  const programs = await findPostgres(location, packageDir ?? installedPackage());
  const cluster = clusterIn(dataDir, programs.major);
  const isNew = !(await majorsIn(dataDir)).includes(programs.major);
  if (isNew) await createCluster(cluster, programs, account);
  await assertMajor(cluster);
  await readPassword(cluster);
  await repairPermissions(cluster, account);
  await removeOldCopies(programs, dataDir);
  await removeSocketDirectory((await removeStalePidFile(cluster.data)) ?? "");
  await truncateLog(cluster.logFile);
  for (const giveUp = Date.now() + SHARED_MEMORY_TIMEOUT_MS; ; await sleep(100)) {
    const outcome = await tryToStart(programs.postgres, cluster, account, announce);
    if (typeof outcome !== "string") return { ...outcome, cluster, isNew };
    // Another process was killed after it started a server and before the server wrote its pid file.
    const found = /lock file .* already exists/.test(outcome) && (await findDatabase(dataDir, announce));
    if (found) return found;
    if (/is still in use|lock file .* already exists/.test(outcome) && Date.now() < giveUp) continue;
    throw new EmbeddedDatabaseError(`PostgreSQL did not start: ${outcome}\nIts log is ${cluster.logFile}.`);
  }
}

/** Stops the server and removes its socket. */
export async function stopDatabase({ server, connection }: RunningDatabase): Promise<void> {
  await stopServer(server);
  await removeSocketDirectory(connection.host);
}

/** Returns PostgreSQL's output if it ends instead. */
async function tryToStart(
  program: string,
  cluster: Cluster,
  account: ServerAccount,
  announce: Announce,
): Promise<Pick<RunningDatabase, "server" | "connection"> | string> {
  const socketDirectory = await createSocketDirectory(cluster.data, account);
  await using log = await openLog(cluster.logFile);
  const { size: logStart } = await log.stat();
  const settings = serverSettings(socketDirectory, PORT, availableMemory());
  const server = startServer(program, cluster.data, settings, account, log.fd);
  const stopAtExit = () => signalServer(server, "SIGINT");
  process.once("exit", stopAtExit);
  try {
    const connection = await untilReady(server, cluster, announce);
    if (connection) return { server, connection };
  } catch (error) {
    await stopServer(server);
    await removeSocketDirectory(socketDirectory);
    throw error;
  } finally {
    process.removeListener("exit", stopAtExit);
  }
  await removeSocketDirectory(socketDirectory);
  return (await lastFailure(cluster.logFile, logStart)) ?? (await server.ended);
}

/** Waits until the server accepts connections. Returns undefined if it ends instead. */
async function untilReady(
  server: PostgresServer,
  cluster: Cluster,
  announce: Announce,
): Promise<EmbeddedConnection | undefined> {
  const password = await readPassword(cluster);
  const began = Date.now();
  for (let announced = false; isServerOf(server.pid, cluster.data); await sleep(POLL_MS)) {
    const waited = Date.now() - began;
    const postmaster = await findPostmaster(cluster.data);
    // Earlier attempts would each add a line to the log.
    if (postmaster?.isReady) {
      const { socketDirectory: host = "nowhere", port } = postmaster;
      const connection = { host, port, database: DATABASE, username: ROLE, password };
      const failure = await tryToConnect(connection);
      if (failure === undefined) return connection;
      if (!TRANSIENT.test(failure)) throw refused(failure, cluster);
      if (failure === "ENOENT" && waited > SOCKET_TIMEOUT_MS) throw hidden(server.pid, host);
    }
    if (waited > START_TIMEOUT_MS) throw tooSlow(server.pid, cluster);
    if (waited > ANNOUNCE_AFTER_MS && !announced) {
      announced = true;
      announce(
        `PostgreSQL is still starting, most likely recovering after a crash, which can take minutes (its log: ${cluster.logFile}).`,
      );
    }
  }
  return undefined;
}

/** Returns the error code of a failure. */
async function tryToConnect(connection: EmbeddedConnection): Promise<string | undefined> {
  const sql = postgres({ ...connection, max: 1, fetch_types: false, connect_timeout: 10 });
  try {
    await sql`select 1`;
    return undefined;
  } catch (error) {
    return codeOf(error);
  } finally {
    await sql.end({ timeout: 0 });
  }
}

function refused(code: string, cluster: Cluster): EmbeddedDatabaseError {
  const remedy =
    code === "28P01"
      ? `it does not accept the password in ${cluster.passwordFile}. Restore that file from the same backup as the data.`
      : `it refused the connection (${code}). Its log is ${cluster.logFile}.`;
  return new EmbeddedDatabaseError(`PostgreSQL runs on ${cluster.data}, but ${remedy}`);
}

function hidden(pid: number, directory: string): EmbeddedDatabaseError {
  return new SocketUnreachable(
    `PostgreSQL (pid ${pid}) runs, but its socket cannot be reached (${directory}; a private /tmp?).\n` +
      `Stop it and start again: kill -INT ${pid}`,
  );
}

function tooSlow(pid: number, cluster: Cluster): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `PostgreSQL (pid ${pid}) gave no answer for ${START_TIMEOUT_MS / 60_000} minutes. Its log ${cluster.logFile} says more; start again to go on waiting.`,
  );
}
