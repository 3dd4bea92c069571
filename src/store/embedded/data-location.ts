import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { databaseErrorCode } from "../postgres/database-error.js";
import { clusterIn, majorsIn } from "./cluster.js";
import { EmbeddedDatabaseError, REMEDY } from "./embedded-database-error.js";
import {
  accountForRoot,
  canAccessDirectory,
  findServerAccount,
  inaccessibleParent,
  ownAccount,
  runsAsRoot,
  type ServerAccount,
} from "./server-account.js";

/** The directory for root's databases that PostgreSQL's account could not reach in the requested directory. */
const RELOCATED = "/var/lib/cloakroom";
/** SQLite, which takes the locks, accepts paths of up to 511 bytes; PostgreSQL of up to 1,023. */
const MAX_PATH_LENGTH = 400;

export interface DataLocation {
  /** Where the data is: an absolute path without symbolic links. */
  readonly dataDir: string;
  /** The account that runs PostgreSQL there. */
  readonly account: ServerAccount;
  /** The line for the operator if the data is not in the requested directory. */
  readonly notice: string | undefined;
}

/**
 * Finds the data directory and the account that can use it. A directory with a database always wins, and as root its owner
 * runs it: a change of permissions or of the image must never lead to a second, empty vault.
 * @throws EmbeddedDatabaseError if there is no account, or it cannot reach an existing database
 */
export async function locateData(requested: string): Promise<DataLocation> {
  const dataDir = await canonical(resolve(requested));
  if (Buffer.byteLength(dataDir) > MAX_PATH_LENGTH) {
    throw new EmbeddedDatabaseError(
      `The path of the data directory is longer than ${MAX_PATH_LENGTH} bytes: ${dataDir}\nName a shorter one in CLOAKROOM_DATA_DIR.`,
    );
  }
  return runsAsRoot() ? locateAsRoot(dataDir) : locateAsUser(dataDir);
}

/**
 * Creates the data directory. PostgreSQL's account must be able to pass through it; the files inside are protected by
 * their own modes.
 */
export async function createDataDirectory({ dataDir, account }: DataLocation): Promise<void> {
  const firstMade = await mkdir(dataDir, { recursive: true, mode: 0o700 });
  if (!runsAsRoot()) return;
  for (let made = dataDir; firstMade !== undefined && made.length >= firstMade.length; made = dirname(made)) {
    await chmod(made, 0o711);
  }
  if (!(await canAccessDirectory(dataDir, account))) await chmod(dataDir, ((await stat(dataDir)).mode & 0o777) | 0o011);
}

async function locateAsUser(dataDir: string): Promise<DataLocation> {
  const account = ownAccount();
  const owner = await databaseOwner(dataDir);
  if (owner !== undefined && owner.uid !== account.uid) {
    throw new EmbeddedDatabaseError(
      `The database in ${dataDir} belongs to ${(await findServerAccount(owner)).label}, and this is ${account.label}.\n` +
        "Run Cloakroom as that user or as root, or name another directory in CLOAKROOM_DATA_DIR.",
    );
  }
  const relocated = relocatedPath(dataDir);
  if (owner === undefined && existsSync(relocated)) {
    throw new EmbeddedDatabaseError(
      `Cloakroom ran as root here and keeps the database of ${dataDir} in ${relocated}.\n` +
        "Start it as root again, or name another CLOAKROOM_DATA_DIR to begin with an empty vault.",
    );
  }
  return { dataDir, account, notice: undefined };
}

async function locateAsRoot(requested: string): Promise<DataLocation> {
  const relocated = relocatedPath(requested);
  for (const dataDir of [requested, relocated]) {
    const owner = await databaseOwner(dataDir);
    if (owner === undefined) continue;
    // A database that belongs to root was copied or restored; the start gives it to the usual account.
    const account = await (owner.uid === 0 ? accountForRoot() : findServerAccount(owner));
    const closed = await inaccessibleParent(dataDir, account);
    if (closed !== undefined) {
      throw new EmbeddedDatabaseError(
        `The database in ${dataDir} is out of reach for ${account.label}, who runs PostgreSQL: ${closed} is closed to that user.\n` +
          "Open it (chmod o+x), or move the directory and name its new place in CLOAKROOM_DATA_DIR.",
      );
    }
    return { dataDir, account, notice: noticeOf(requested, dataDir, account) };
  }
  const account = await accountForRoot();
  const dataDir = (await inaccessibleParent(requested, account)) === undefined ? requested : relocated;
  return { dataDir, account, notice: noticeOf(requested, dataDir, account) };
}

function noticeOf(requested: string, dataDir: string, account: ServerAccount): string | undefined {
  if (dataDir === requested) return undefined;
  return `The database is kept in ${dataDir}: PostgreSQL does not run as root, and ${account.label}, who runs it, cannot reach ${requested}.`;
}

/** A readable name, made unique by the hash of the whole path. */
function relocatedPath(requested: string): string {
  const readable = requested
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(-60);
  return join(RELOCATED, `${readable}-${createHash("sha256").update(requested).digest("hex").slice(0, 12)}`);
}

async function databaseOwner(dataDir: string): Promise<{ uid: number; gid: number } | undefined> {
  const [major] = await majorsIn(dataDir);
  if (major === undefined) return undefined;
  const { home, data } = clusterIn(dataDir, major);
  return stat(existsSync(data) ? data : home);
}

/** The path with the symbolic links of its existing part resolved, so each directory has exactly one name. */
async function canonical(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const above = dirname(path);
    if (databaseErrorCode(error) !== "ENOENT" || above === path) throw error;
    const target = await readlink(path).catch(() => undefined);
    if (target !== undefined) {
      throw new EmbeddedDatabaseError(`${path} is a symbolic link to ${target}, which does not exist.\n${REMEDY}`);
    }
    return join(await canonical(above), basename(path));
  }
}
