import { installedPackage, removeOldCopies } from "./bundled-postgres.js";
import { choosePostgres } from "./choose-postgres.js";
import { assertMajor, type Cluster, clusterIn, majorsIn, readPassword } from "./cluster.js";
import { createCluster } from "./create-cluster.js";
import type { DataLocation } from "./data-location.js";
import { DatabaseSession } from "./database-session.js";
import { adoptServer, stopServer } from "./postgres-server.js";
import { livingPostmaster } from "./postmaster-file.js";
import { removeSocketDirectory } from "./socket-directory.js";
import { type AnsweringServer, type Claim, connectionTo, startOrAdopt, trySession } from "./start-or-adopt.js";

export interface RunningDatabase extends AnsweringServer {
  readonly cluster: Cluster;
  /** initdb ran in this start. */
  readonly isNew: boolean;
}

export interface BringUpOptions {
  readonly packageDir: string | undefined;
  readonly claim: Claim;
  announce(line: string): void;
}

/**
 * Brings the database up: makes it if there is none, takes over a server that a killed owner left behind, or else starts
 * one. The caller holds the directory lock.
 * @throws EmbeddedDatabaseError when it cannot be brought up; a server that was started here has been stopped then
 */
export async function bringUp(location: DataLocation, options: BringUpOptions): Promise<RunningDatabase> {
  const { dataDir, account } = location;
  const binaries = await choosePostgres(location, options.packageDir ?? installedPackage());
  const cluster = clusterIn(dataDir, binaries.major);
  const isNew = !(await majorsIn(dataDir)).includes(binaries.major);
  if (isNew) await createCluster(cluster, binaries, account);
  await assertMajor(cluster);
  const up = await startOrAdopt({ cluster, binaries, account, claim: options.claim, announce: options.announce });
  if (up.server.origin === "started") await removeOldCopies(binaries, dataDir);
  return { ...up, cluster, isNew };
}

/**
 * Joins the server that another process of this pid namespace runs. Nothing when there is none, it does not answer yet, or
 * the claim on it fails; "hidden" when it is ready, but has no socket where it says.
 */
export async function joinRunning(dataDir: string, claim: Claim): Promise<RunningDatabase | "hidden" | undefined> {
  const [major] = await majorsIn(dataDir);
  if (major === undefined) return undefined;
  const cluster = clusterIn(dataDir, major);
  const postmaster = await livingPostmaster(cluster.data);
  if (!postmaster?.ready || postmaster.socketDirectory === undefined) return undefined;
  const connection = connectionTo(postmaster.socketDirectory, postmaster.port, await readPassword(cluster));
  const session = await trySession(connection, cluster, claim);
  if (!(session instanceof DatabaseSession)) return session === "ENOENT" ? "hidden" : undefined;
  return { server: adoptServer(postmaster.pid, cluster.data), session, connection, cluster, isNew: false };
}

/** Stops the server and removes its socket. */
export async function shutDown({ server, connection }: RunningDatabase): Promise<void> {
  await stopServer(server);
  await removeSocketDirectory(connection.host);
}
