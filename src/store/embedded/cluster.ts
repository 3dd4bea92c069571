import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../database-error.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";

/**
 * The files of one database cluster. `home` comes into being by a rename, complete, so that whatever stands there once
 * held a working database. Only `data` belongs to the server's account; the rest belongs to whoever runs Cloakroom, so that
 * a root process never follows what PostgreSQL's account could have planted.
 */
export interface Cluster {
  readonly major: number;
  readonly dataDir: string;
  /** `<dataDir>/pg18`: another major gets another directory. */
  readonly home: string;
  /** PostgreSQL's own data directory. */
  readonly data: string;
  /** The password of the role `cloakroom`, mode 0600. */
  readonly passwordFile: string;
  /** What PostgreSQL says on stderr. */
  readonly logFile: string;
}

export function clusterIn(dataDir: string, major: number): Cluster {
  return clusterAt(join(dataDir, `pg${major}`), dataDir, major);
}

/** The same files below another home: a cluster that is still being made. */
export function clusterAt(home: string, dataDir: string, major: number): Cluster {
  return {
    major,
    dataDir,
    home,
    data: join(home, "data"),
    passwordFile: join(home, "password"),
    logFile: join(home, "postgres.log"),
  };
}

/** The major versions that have a database here, the newest first. */
export async function majorsIn(dataDir: string): Promise<readonly number[]> {
  const names = await readdir(dataDir).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  return names
    .flatMap((name) => /^pg(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => b - a);
}

/** @throws EmbeddedDatabaseError when the directory is not a database of the major version that its name says */
export async function assertMajor(cluster: Cluster): Promise<void> {
  const version = (await readOptional(join(cluster.data, "PG_VERSION")))?.trim();
  if (version === String(cluster.major)) return;
  if (version === undefined) {
    throw new EmbeddedDatabaseError(
      `${cluster.data} is not a PostgreSQL database (no PG_VERSION). Restore it from a backup, or move ${cluster.home} away to begin anew.`,
    );
  }
  throw new EmbeddedDatabaseError(
    `${cluster.data} holds a PostgreSQL ${version} database where version ${cluster.major} is expected. Move it to ${join(cluster.dataDir, `pg${version}`, "data")}, or restore the right one.`,
  );
}

/** @throws EmbeddedDatabaseError when the password is missing */
export async function readPassword(cluster: Cluster): Promise<string> {
  const password = (await readOptional(cluster.passwordFile))?.trim();
  if (password) return password;
  throw new EmbeddedDatabaseError(
    `The database's password is missing: restore ${cluster.passwordFile} from the backup that ${cluster.home} came from.`,
  );
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
