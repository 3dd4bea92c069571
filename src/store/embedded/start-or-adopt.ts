import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../database-error.js";
import { claimCluster } from "./claim-cluster.js";
import { type Cluster, readPassword } from "./cluster.js";
import { DATABASE, ROLE } from "./create-cluster.js";
import { DatabaseSession, type EmbeddedConnection, isPassing } from "./database-session.js";
import { inUse } from "./directory-lock.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import type { PostgresBinaries } from "./postgres-binaries.js";
import { adoptServer, type PostgresServer, startServer, stopAtProcessExit, stopServer } from "./postgres-server.js";
import { clearStalePostmaster, livingPostmaster, type Postmaster } from "./postmaster-file.js";
import type { ServerAccount } from "./server-account.js";
import { ServerLog } from "./server-log.js";
import { availableMemory, serverArguments } from "./server-settings.js";
import { openSocketDirectory, PORT, removeSocketDirectory } from "./socket-directory.js";

/** How long a server may take until it answers: crash recovery replays up to max_wal_size, on a slow disk for minutes. */
export const PATIENCE = 15 * 60_000;
/** After this long without an answer the operator is told why it takes time. */
export const SILENCE = 5_000;
/** How long the socket of a server that says it is ready may be missing before we give up. */
export const HIDDEN = 5_000;
/** How long the processes of a killed server may keep its shared memory. */
const LINGERING = 30_000;
/** How long another session may hold the claim before we believe it: that of a killed owner takes a moment to notice. */
const DOUBT = 3_000;
const POLL = 10;
const CLAIMED = "claimed by another";

export interface Start {
  readonly cluster: Cluster;
  readonly binaries: PostgresBinaries;
  readonly account: ServerAccount;
  readonly claim: Claim;
  announce(line: string): void;
}

/** Takes the advisory lock that goes with the use of the database; false when another process stands in the way. */
export type Claim = (session: DatabaseSession) => Promise<boolean>;

/** A server that answers, and the session that holds our claim on it. */
export interface AnsweringServer {
  readonly server: PostgresServer;
  readonly connection: EmbeddedConnection;
  readonly session: DatabaseSession;
}

interface Candidate {
  readonly server: PostgresServer;
  readonly connection: EmbeddedConnection;
  /** Where in the log this server's own lines begin. */
  readonly logStart: number;
}

/**
 * Takes over the server that runs on the cluster, or starts one, and waits until it answers. A server is looked for first:
 * one that is started beside an orphan ends at once, while connections to the orphan succeed.
 * @throws EmbeddedDatabaseError when there is no answer; a server that was started here is stopped then
 */
export async function startOrAdopt(start: Start): Promise<AnsweringServer> {
  const giveUp = Date.now() + LINGERING;
  for (;;) {
    const candidate = (await adoptOrphan(start.cluster)) ?? (await startFresh(start));
    const undo = stopAtProcessExit(candidate.server);
    const session = await sessionOn(candidate, start).finally(undo);
    if (session) return { server: candidate.server, connection: candidate.connection, session };
    // An adopted server that ended was stopping already: look again. One of our own has failed.
    if (candidate.server.origin === "started") await assertMayRetry(candidate, start.cluster, giveUp);
  }
}

async function adoptOrphan(cluster: Cluster): Promise<Candidate | undefined> {
  for (;;) {
    const postmaster = await livingPostmaster(cluster.data);
    if (postmaster === undefined) return undefined;
    if (postmaster.socketDirectory !== undefined) return candidateAt(postmaster, postmaster.socketDirectory, cluster);
    if (postmaster.ready) throw outOfReach(postmaster.pid, "nowhere");
    await sleep(POLL);
  }
}

async function candidateAt({ pid, port }: Postmaster, socketDirectory: string, cluster: Cluster): Promise<Candidate> {
  return {
    server: adoptServer(pid, cluster.data),
    connection: connectionTo(socketDirectory, port, await readPassword(cluster)),
    logStart: await new ServerLog(cluster.logFile).end(),
  };
}

async function startFresh({ cluster, binaries, account }: Start): Promise<Candidate> {
  const password = await readPassword(cluster);
  await claimCluster(cluster, account);
  const abandoned = await clearStalePostmaster(cluster.data);
  if (abandoned !== undefined) await removeSocketDirectory(abandoned);
  const socketDirectory = await openSocketDirectory(cluster.data, account);
  const log = new ServerLog(cluster.logFile);
  await log.bound();
  const logStart = await log.end();
  const stderr = await log.open();
  try {
    const args = serverArguments(cluster.data, socketDirectory, PORT, availableMemory());
    const server = startServer(binaries, args, account, stderr.fd);
    return { server, connection: connectionTo(socketDirectory, PORT, password), logStart };
  } finally {
    await stderr.close();
  }
}

/** Waits for the server to answer and for the claim on it. Nothing when it ended instead. */
async function sessionOn(candidate: Candidate, start: Start): Promise<DatabaseSession | undefined> {
  const { server, connection } = candidate;
  const { cluster, claim, announce } = start;
  const began = Date.now();
  let announced = false;
  try {
    while (!server.hasEnded()) {
      // A server that is not ready would log each attempt, for minutes when it recovers.
      const ready = (await livingPostmaster(cluster.data))?.ready ?? false;
      const outcome = ready ? await trySession(connection, cluster, claim) : "57P03";
      if (outcome instanceof DatabaseSession) return outcome;
      const waited = Date.now() - began;
      if (outcome === CLAIMED && waited > DOUBT) throw inUse(cluster.dataDir, undefined);
      if (outcome === "ENOENT" && waited > HIDDEN) throw outOfReach(server.pid, connection.host);
      if (waited > PATIENCE) throw tooSlow(server, cluster);
      if (waited > SILENCE && !announced) {
        announced = true;
        announce(
          `PostgreSQL is still starting, most likely recovering after a crash, which can take minutes (its log: ${cluster.logFile}).`,
        );
      }
      await sleep(POLL);
    }
    return undefined;
  } catch (error) {
    if (server.origin === "started") {
      await stopServer(server);
      await removeSocketDirectory(connection.host);
    }
    throw error;
  }
}

/** A session that holds the claim, or the code of an obstacle that may pass. */
export async function trySession(
  connection: EmbeddedConnection,
  cluster: Cluster,
  claim: Claim,
): Promise<DatabaseSession | string> {
  let session: DatabaseSession | undefined;
  try {
    session = await DatabaseSession.open(connection);
    if (await claim(session)) return session;
    await session.end();
    return CLAIMED;
  } catch (error) {
    // A server that begins to stop now closes the session: no other obstacle than a refused connection.
    await session?.end();
    const code = codeOf(error);
    if (isPassing(code)) return code;
    throw refused(code, cluster);
  }
}

/** Whether a server that ended at once may be started again: only because a killed one has not quite gone. */
async function assertMayRetry(
  { server, connection, logStart }: Candidate,
  cluster: Cluster,
  giveUp: number,
): Promise<void> {
  const failure = await new ServerLog(cluster.logFile).lastFailure(logStart);
  if (failure !== undefined && /is still in use|lock file .* already exists/.test(failure) && Date.now() < giveUp) {
    await sleep(100);
    return;
  }
  await removeSocketDirectory(connection.host);
  throw new EmbeddedDatabaseError(
    `PostgreSQL did not start: ${failure ?? (await server.ended)}\nIts log is ${cluster.logFile}.`,
  );
}

export function connectionTo(host: string, port: number, password: string): EmbeddedConnection {
  return { host, port, database: DATABASE, username: ROLE, password };
}

function refused(code: string, cluster: Cluster): EmbeddedDatabaseError {
  const remedy =
    code === "28P01"
      ? `it does not accept the password in ${cluster.passwordFile}. Restore that file from the same backup as the data.`
      : `it refused the connection (${code}). Its log is ${cluster.logFile}.`;
  return new EmbeddedDatabaseError(`PostgreSQL runs on ${cluster.data}, but ${remedy}`);
}

function outOfReach(pid: number, directory: string): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `PostgreSQL (pid ${pid}) runs, but its socket cannot be reached (${directory}; a private /tmp?).\n` +
      `Stop it and start again: kill -INT ${pid}`,
  );
}

function tooSlow(server: PostgresServer, cluster: Cluster): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `PostgreSQL (pid ${server.pid}) gave no answer for ${PATIENCE / 60_000} minutes. Its log ${cluster.logFile} says more; start again to go on waiting.`,
  );
}
