import { execFile } from "node:child_process";
import { chmod, chown, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "../postgres/database-error.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { mayEnter, runsAsRoot, type ServerAccount } from "./server-account.js";

/**
 * The files of a database cluster. Only `data` belongs to the server's account. The rest belongs to Cloakroom's user,
 * so a root process follows no link that PostgreSQL's account may have made.
 */
export interface Cluster {
  readonly major: number;
  readonly dataDir: string;
  /** `<dataDir>/pg18`: one directory for each major version. */
  readonly home: string;
  /** PostgreSQL's own data directory. */
  readonly data: string;
  /** The password of the role `cloakroom`, mode 0600. */
  readonly passwordFile: string;
  /** What PostgreSQL writes to stderr. */
  readonly logFile: string;
}

export function clusterIn(dataDir: string, major: number, home = join(dataDir, `pg${major}`)): Cluster {
  return {
    ...{ major, dataDir, home },
    data: join(home, "data"),
    passwordFile: join(home, "password"),
    logFile: join(home, "postgres.log"),
  };
}

/** The major versions that have a cluster here, newest first. */
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

/** @throws EmbeddedDatabaseError if the directory is not a database of the major version in its name */
export async function assertMajor(cluster: Cluster): Promise<void> {
  const version = await readOptional(join(cluster.data, "PG_VERSION"));
  if (version === String(cluster.major)) return;
  throw new EmbeddedDatabaseError(
    version === undefined
      ? `${cluster.data} is not a PostgreSQL database (no PG_VERSION). Restore it from a backup, or move ${cluster.home} away to start with an empty vault.`
      : `${cluster.data} holds a PostgreSQL ${version} database where version ${cluster.major} is expected. Move it to ${join(cluster.dataDir, `pg${version}`, "data")}, or restore the right one.`,
  );
}

/** @throws EmbeddedDatabaseError if the password is missing */
export async function readPassword(cluster: Cluster): Promise<string> {
  const password = await readOptional(cluster.passwordFile);
  if (password) return password;
  throw new EmbeddedDatabaseError(
    `The database's password is missing: restore ${cluster.passwordFile} from the backup that ${cluster.home} came from.`,
  );
}

/** As root, the server's account must be able to pass through `home` to `data`. */
export function homeMode(): number {
  return runsAsRoot() ? 0o711 : 0o700;
}

/**
 * Gives a stopped server's files the modes that PostgreSQL requires. As root, also gives them to the server's account:
 * a copy or a restored backup often has others.
 */
export async function repairPermissions(cluster: Cluster, account: ServerAccount): Promise<void> {
  if (runsAsRoot()) {
    if (!(await mayEnter(cluster.home, account))) await chmod(cluster.home, homeMode());
    if ((await stat(cluster.data)).uid !== account.uid) await changeOwner(cluster.data, account);
  }
  await closeToOthers(cluster.data, 0o700);
  await closeToOthers(cluster.passwordFile, 0o600);
}

/**
 * Root takes the top directory first and gives it away last, so no other user can exchange parts of the tree meanwhile.
 */
async function changeOwner(data: string, { uid, gid }: ServerAccount): Promise<void> {
  await chown(data, 0, 0);
  await chmod(data, 0o700);
  const files = (await readdir(data)).map((name) => join(data, name));
  await promisify(execFile)("chown", ["-R", "-h", `${uid}:${gid}`, ...files]);
  await chown(data, uid, gid);
}

async function closeToOthers(path: string, mode: number): Promise<void> {
  if (((await stat(path)).mode & 0o077) !== 0) await chmod(path, mode);
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
