import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import type { DatabaseAddress } from "../postgres/connect.js";
import { databaseErrorCode } from "../postgres/database-error.js";
import {
  assertMajor,
  type Cluster,
  clusterIn,
  createCluster,
  DATABASE,
  majorsIn,
  ROLE,
  readPassword,
  repairPermissions,
} from "./cluster.js";
import type { DataLocation } from "./data-location.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { findPostgres, installedPackage, removeOldCopies } from "./postgres-programs.js";
import {
  commandLine,
  existingServer,
  findPostmaster,
  type PostgresServer,
  removeStalePidFile,
  signalServer,
  startPostgres,
  stopServer,
} from "./postgres-server.js";
import { lastFailure, openLog, truncateLog } from "./server-log.js";
import { availableMemory, serverSettings } from "./server-settings.js";
import { createSocketDirectory, PORT, removeSocketDirectory } from "./socket-directory.js";

/** Options for postgres.js. `host` is the directory of the unix socket. */
export type EmbeddedConnection = Extract<DatabaseAddress, { readonly host: string }>;

export interface RunningDatabase {
  readonly server: PostgresServer;
  readonly cluster: Cluster;
  readonly connection: EmbeddedConnection;
  /** A connection of this process. While it is open, {@link servingProcess} finds a server. */
  readonly session: postgres.Sql;
  /** initdb ran in this start. */
  readonly isNew: boolean;
}

/** A process that opens the database. */
export interface Opening extends DataLocation {
  readonly as: "server" | "command";
  /** The npm package with PostgreSQL's programs. Absent: the installed one. */
  readonly packageDir?: string | undefined;
  /** Receives lines for the operator. */
  readonly announce: (line: string) => void;
}

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
/** The application name of a server's session. The pid follows. */
const SERVER_SESSION = "cloakroom server ";

/** The server runs, but this process cannot reach its socket. */
export class SocketUnreachable extends EmbeddedDatabaseError {}

/**
 * Finds the server that already runs here: another process's, or one that outlived a killed process. Waits until it
 * accepts connections. Returns undefined if no server runs. The caller holds `start.lock`.
 * @throws EmbeddedDatabaseError if it runs and cannot be used
 */
export async function findDatabase(opening: Opening): Promise<RunningDatabase | undefined> {
  const [major] = await majorsIn(opening.dataDir);
  if (major === undefined) return undefined;
  const cluster = clusterIn(opening.dataDir, major);
  const postmaster = await findPostmaster(cluster.data);
  return postmaster && untilReady(existingServer(postmaster.pid, cluster.data), cluster, opening);
}

/**
 * Starts the server, after creating the database if it does not exist. The caller holds `start.lock`, and no other
 * process uses the database.
 * @throws EmbeddedDatabaseError if that fails; then no server is left running
 */
export async function startDatabase(opening: Opening): Promise<RunningDatabase> {
  const { dataDir, account } = opening;
  const programs = await findPostgres(opening, opening.packageDir ?? installedPackage());
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
    const outcome = await tryToStart(programs.postgres, cluster, opening);
    if (typeof outcome !== "string") return { ...outcome, isNew };
    // Another process was killed after it started a server and before the server wrote its pid file.
    const found = /lock file .* already exists/.test(outcome) && (await findDatabase(opening));
    if (found) return found;
    if (/is still in use|lock file .* already exists/.test(outcome) && Date.now() < giveUp) continue;
    throw new EmbeddedDatabaseError(
      `PostgreSQL did not start: ${outcome}\nIts log is ${cluster.logFile}. If files are missing or damaged, restore ${cluster.home} from a backup.`,
    );
  }
}

export async function stopDatabase({ server, connection, session }: RunningDatabase): Promise<void> {
  await session.end({ timeout: 0 });
  await stopServer(server);
  await removeSocketDirectory(connection.host);
}

/**
 * Another process that serves from this PostgreSQL, by its session. If its lock on the data directory is free, its
 * lock files were deleted.
 */
export async function servingProcess({ session }: RunningDatabase): Promise<number | undefined> {
  const rows = await session<{ name: string }[]>`
    select application_name as name from pg_stat_activity
    where starts_with(application_name, ${SERVER_SESSION}) and pid <> pg_backend_pid()`;
  // The session of a killed process remains for a moment.
  return rows.map(({ name }) => Number(name.slice(SERVER_SESSION.length))).find((pid) => commandLine(pid) !== "");
}

/** Returns PostgreSQL's output if it ends instead. */
async function tryToStart(program: string, cluster: Cluster, opening: Opening): Promise<RunningDatabase | string> {
  const { account } = opening;
  const socketDirectory = await createSocketDirectory(cluster.data, account);
  await using log = await openLog(cluster.logFile);
  const { size: logStart } = await log.stat();
  const settings = serverSettings(socketDirectory, PORT, availableMemory());
  const server = startPostgres({ postgres: program, data: cluster.data, settings, account, log: log.fd });
  const stopAtExit = () => signalServer(server, "SIGINT");
  process.prependOnceListener("exit", stopAtExit);
  try {
    const running = await untilReady(server, cluster, opening);
    if (running) return running;
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
  { as, announce }: Opening,
): Promise<RunningDatabase | undefined> {
  const { logFile } = cluster;
  const password = await readPassword(cluster);
  const began = Date.now();
  for (let announced = false; server.isRunning; await sleep(POLL_MS)) {
    const waited = Date.now() - began;
    const postmaster = await findPostmaster(cluster.data);
    // Earlier attempts would each add a line to the log.
    if (postmaster?.isReady) {
      const { socketDirectory: host = "nowhere", port } = postmaster;
      const connection = { host, port, database: DATABASE, username: ROLE, password };
      const session = await tryToConnect(connection, as);
      if (typeof session !== "string") return { server, cluster, connection, session, isNew: false };
      if (!TRANSIENT.test(session)) throw refused(session, cluster);
      if (session === "ENOENT" && waited > SOCKET_TIMEOUT_MS) {
        throw new SocketUnreachable(
          `PostgreSQL (pid ${server.pid}) runs, but its socket cannot be reached (${host}; a private /tmp?).\n` +
            `Stop it and start again: kill -INT ${server.pid}`,
        );
      }
    }
    if (waited > START_TIMEOUT_MS) {
      throw new EmbeddedDatabaseError(
        `PostgreSQL (pid ${server.pid}) gave no result for ${START_TIMEOUT_MS / 60_000} minutes. Its log ${logFile} says more; start again to go on waiting.`,
      );
    }
    if (waited > ANNOUNCE_AFTER_MS && !announced) {
      announced = true;
      announce(
        `PostgreSQL is still starting, most likely recovering after a crash, which can take minutes (its log: ${logFile}).`,
      );
    }
  }
  return undefined;
}

/** Returns the error code of a failure. */
async function tryToConnect(connection: EmbeddedConnection, as: Opening["as"]): Promise<postgres.Sql | string> {
  const session = postgres({
    ...connection,
    max: 1,
    fetch_types: false,
    connect_timeout: 10,
    max_lifetime: null,
    // The client's default writes them to standard output, such as the one of a shutdown.
    onnotice: () => {},
    connection: { application_name: as === "server" ? `${SERVER_SESSION}${process.pid}` : "cloakroom command" },
  });
  try {
    await session`select 1`;
    return session;
  } catch (error) {
    await session.end({ timeout: 0 });
    return databaseErrorCode(error);
  }
}

function refused(code: string, { data, home, logFile, passwordFile }: Cluster): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    code === "28P01"
      ? `PostgreSQL runs on ${data}, but it does not accept the password in ${passwordFile}. Restore that file from the same backup as the data.`
      : `PostgreSQL runs on ${data}, but it refused the connection (${code}). Its log is ${logFile}. If files are missing or damaged, restore ${home} from a backup.`,
  );
}
