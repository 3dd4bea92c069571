import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname } from "node:path";
import { databaseErrorCode } from "../postgres/database-error.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";

/** The operating-system account that runs PostgreSQL. It is never root: initdb and postgres refuse uid 0. */
export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
  /** For messages: `postgres (uid 101)`. */
  readonly label: string;
  /** Options for `spawn`: empty if this process runs as the account already. */
  readonly spawnAs: { readonly uid: number; readonly gid: number } | Record<never, never>;
}

/** If this process is root, PostgreSQL runs as the first of these users that exists: Debian's, the Node image's, any. */
const USUAL_NAMES = ["postgres", "node", "nobody"] as const;

/** @throws EmbeddedDatabaseError on Windows, where Node has no unix sockets */
export function ownAccount(): ServerAccount {
  const uid = process.geteuid?.();
  const gid = process.getegid?.();
  if (uid === undefined || gid === undefined) {
    throw new EmbeddedDatabaseError(
      "The embedded database does not run on Windows. Set DATABASE_URL to a PostgreSQL 15 to 18, or use WSL 2.",
    );
  }
  return { uid, gid, label: accountLabel(uid, ownName()), spawnAs: {} };
}

export function runsAsRoot(): boolean {
  return ownAccount().uid === 0;
}

/** The account that owns a file. It needs no entry in /etc/passwd, except for initdb. */
export async function findServerAccount({ uid, gid }: { uid: number; gid: number }): Promise<ServerAccount> {
  const entry = (await passwdEntries()).find((candidate) => candidate.uid === uid);
  return { uid, gid, label: accountLabel(uid, entry?.name), spawnAs: { uid, gid } };
}

/** @throws EmbeddedDatabaseError if no usual account exists */
export async function accountForRoot(): Promise<ServerAccount> {
  const entries = await passwdEntries();
  for (const name of USUAL_NAMES) {
    const entry = entries.find((candidate) => candidate.name === name && candidate.uid > 0);
    if (entry) return findServerAccount(entry);
  }
  throw new EmbeddedDatabaseError(
    `PostgreSQL does not run as root, and there is no user ${USUAL_NAMES.join(", ")} to run it.\n` +
      "Start Cloakroom as another user, or set DATABASE_URL.",
  );
}

/** The topmost parent directory of `path` that the account may not enter. Parents that do not exist yet count as open. */
export async function inaccessibleParent(path: string, account: ServerAccount): Promise<string | undefined> {
  const parent = dirname(path);
  if (parent === path) return undefined;
  return (
    (await inaccessibleParent(parent, account)) ?? ((await canAccessDirectory(parent, account)) ? undefined : parent)
  );
}

/** Checks the mode bits, because a process cannot ask for another uid. `spawn` drops supplementary groups. */
export async function canAccessDirectory(directory: string, account: ServerAccount): Promise<boolean> {
  try {
    const { mode, uid, gid } = await stat(directory);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    return (mode & bit) !== 0;
  } catch (error) {
    if (databaseErrorCode(error) === "ENOENT") return true;
    throw error;
  }
}

function accountLabel(uid: number, name: string | undefined): string {
  return name === undefined ? `uid ${uid}` : `${name} (uid ${uid})`;
}

function ownName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    // A uid without a passwd entry, as container platforms assign it.
    return undefined;
  }
}

async function passwdEntries(): Promise<readonly { name: string; uid: number; gid: number }[]> {
  const text = await readFile("/etc/passwd", "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid = "", gid = ""] = line.split(":");
    return /^\d+$/.test(uid) && /^\d+$/.test(gid) ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}
