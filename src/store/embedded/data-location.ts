import { createHash } from "node:crypto";
import { access, chmod, mkdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf } from "../database-error.js";
import { clusterIn, majorsIn } from "./cluster.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { barrierBefore, mayEnter } from "./reachability.js";
import { accountForRoot, accountOfIds, ownAccount, runsAsRoot, type ServerAccount } from "./server-account.js";

/** Where a root process keeps databases that PostgreSQL's account could not reach where they were asked for. */
const RELOCATED = "/var/lib/cloakroom";
/** SQLite, which locks the directory, takes paths up to 511 bytes; PostgreSQL up to 1,023. */
const LONGEST_PATH = 400;

export interface DataLocation {
  /** Where the data really is: an absolute path without symbolic links. */
  readonly dataDir: string;
  /** Who runs PostgreSQL there. */
  readonly account: ServerAccount;
  /** The line that tells the operator that the data is not where it was asked for. */
  readonly notice: string | undefined;
}

/**
 * Finds the data directory and the account that can use it. A directory that already holds a database always wins, and as
 * root its owner runs it: a change of permissions or of the image must never lead to a second, empty vault.
 * @throws EmbeddedDatabaseError when no account can be found, or the account cannot reach an existing database
 */
export async function locateData(requested: string, runAs: string | undefined): Promise<DataLocation> {
  const dataDir = await canonical(resolve(requested));
  if (Buffer.byteLength(dataDir) > LONGEST_PATH) {
    throw new EmbeddedDatabaseError(
      `The path of the data directory is longer than ${LONGEST_PATH} bytes: ${dataDir}\nName a shorter one in CLOAKROOM_DATA_DIR.`,
    );
  }
  return runsAsRoot() ? locateAsRoot(dataDir, runAs) : locateAsUser(dataDir, runAs);
}

/**
 * Makes the data directory: 0700, or as root 0711, since PostgreSQL's account has to pass it. What lies inside is
 * protected by its own modes.
 */
export async function makeDataDirectory({ dataDir, account }: DataLocation): Promise<void> {
  const root = runsAsRoot();
  const firstMade = await mkdir(dataDir, { recursive: true, mode: 0o700 });
  if (!root) return;
  // The umask may have taken bits away from all that was made on the way.
  for (let made = dataDir; firstMade !== undefined && made.length >= firstMade.length; made = dirname(made)) {
    await chmod(made, 0o711);
  }
  if (!(await mayEnter(dataDir, account))) await chmod(dataDir, ((await stat(dataDir)).mode & 0o777) | 0o011);
}

async function locateAsUser(dataDir: string, runAs: string | undefined): Promise<DataLocation> {
  const account = ownAccount();
  if (runAs !== undefined && (await accountForRoot(runAs)).uid !== account.uid) {
    throw new EmbeddedDatabaseError(`Only root can run PostgreSQL as ${runAs}; this is ${account.label}.`);
  }
  const owner = await databaseOwner(dataDir);
  if (owner !== undefined && owner.uid !== account.uid) {
    throw new EmbeddedDatabaseError(
      `The database in ${dataDir} belongs to ${(await accountOfIds(owner.uid, owner.gid)).label}, and this is ${account.label}.\n` +
        "Run Cloakroom as that user or as root, or name another directory in CLOAKROOM_DATA_DIR.",
    );
  }
  const moved = relocated(dataDir);
  if (owner === undefined && (await exists(moved))) {
    throw new EmbeddedDatabaseError(
      `Cloakroom ran as root here and keeps the database of ${dataDir} in ${moved}.\n` +
        "Start it as root again, or name another CLOAKROOM_DATA_DIR to begin with an empty vault.",
    );
  }
  return { dataDir, account, notice: undefined };
}

async function locateAsRoot(requested: string, runAs: string | undefined): Promise<DataLocation> {
  for (const dataDir of [requested, relocated(requested)]) {
    const owner = await databaseOwner(dataDir);
    if (owner === undefined) continue;
    // A root-owned database was copied or restored by root; the start gives it to the account.
    const account =
      runAs === undefined && owner.uid !== 0 ? await accountOfIds(owner.uid, owner.gid) : await accountForRoot(runAs);
    const barrier = await barrierBefore(dataDir, account);
    if (barrier !== undefined) {
      throw new EmbeddedDatabaseError(
        `The database in ${dataDir} is out of reach for ${account.label}, who runs PostgreSQL: ${barrier} is closed to that user.\n` +
          "Open it (chmod o+x), or move the directory and name its new place in CLOAKROOM_DATA_DIR.",
      );
    }
    return { dataDir, account, notice: dataDir === requested ? undefined : notice(requested, dataDir, account) };
  }
  const account = await accountForRoot(runAs);
  const barrier = await barrierBefore(requested, account);
  if (barrier === undefined) return { dataDir: requested, account, notice: undefined };
  const dataDir = relocated(requested);
  return { dataDir, account, notice: notice(requested, dataDir, account) };
}

function notice(requested: string, dataDir: string, account: ServerAccount): string {
  return `The database is kept in ${dataDir}: PostgreSQL does not run as root, and ${account.label}, who runs it, cannot reach ${requested}.`;
}

/** A readable name, made unique by the hash of the whole path. */
function relocated(requested: string): string {
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
  return stat((await exists(data)) ? data : home);
}

/** The path with the symbolic links of its existing part resolved, so that one directory has one name. */
async function canonical(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const above = dirname(path);
    if (codeOf(error) !== "ENOENT" || above === path) throw error;
    return join(await canonical(above), basename(path));
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
