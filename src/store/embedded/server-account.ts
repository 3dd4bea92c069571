import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";

/** The operating-system account under which PostgreSQL runs. It is never root: initdb and postgres refuse uid 0. */
export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
  /** For messages: `postgres (uid 101)`. */
  readonly label: string;
  /** What `spawn` is told, so that the child runs as this account; nothing when this process does already. */
  readonly spawnAs: { readonly uid: number; readonly gid: number } | Record<never, never>;
}

/** Whom a root process hands PostgreSQL to, the first that exists: Debian's and the images' own, then the universal one. */
const USUAL_NAMES = ["postgres", "node", "nobody"] as const;

/**
 * The ids of this process.
 * @throws EmbeddedDatabaseError on Windows, where Node reaches named pipes but no unix sockets.
 */
export function processIds(): { readonly uid: number; readonly gid: number } {
  const uid = process.geteuid?.();
  const gid = process.getegid?.();
  if (uid === undefined || gid === undefined) {
    throw new EmbeddedDatabaseError(
      "The embedded database does not run on Windows. Set DATABASE_URL to a PostgreSQL 15 to 18, or use WSL 2.",
    );
  }
  return { uid, gid };
}

export function runsAsRoot(): boolean {
  return processIds().uid === 0;
}

/** The account of this process. */
export function ownAccount(): ServerAccount {
  const { uid, gid } = processIds();
  return { uid, gid, label: label(uid, ownName()), spawnAs: {} };
}

/** The account that owns a file. It needs no passwd entry: only initdb asks for one. */
export async function accountOfIds(uid: number, gid: number): Promise<ServerAccount> {
  const entry = (await passwdEntries()).find((candidate) => candidate.uid === uid);
  return otherAccount(uid, gid, entry?.name);
}

/**
 * @param wanted a name of /etc/passwd, `uid`, or `uid:gid`; absent: the first usual one that exists
 * @throws EmbeddedDatabaseError when there is no such account, or it is root
 */
export async function accountForRoot(wanted: string | undefined): Promise<ServerAccount> {
  const entries = await passwdEntries();
  if (wanted === undefined) {
    for (const name of USUAL_NAMES) {
      const entry = entries.find((candidate) => candidate.name === name);
      if (entry && entry.uid > 0) return otherAccount(entry.uid, entry.gid, name);
    }
    throw new EmbeddedDatabaseError(
      `PostgreSQL does not run as root, and there is no user ${USUAL_NAMES.join(", ")} to run it.\n` +
        "Start Cloakroom as another user, or set DATABASE_URL.",
    );
  }
  const numbers = /^(\d+)(?::(\d+))?$/.exec(wanted);
  const entry = entries.find((candidate) =>
    numbers ? candidate.uid === Number(numbers[1]) : candidate.name === wanted,
  );
  const uid = numbers ? Number(numbers[1]) : entry?.uid;
  if (uid === undefined) throw new EmbeddedDatabaseError(`There is no user ${wanted} to run PostgreSQL as.`);
  if (uid === 0) throw new EmbeddedDatabaseError("PostgreSQL does not run as root: name another user.");
  return otherAccount(uid, Number(numbers?.[2] ?? entry?.gid ?? uid), entry?.name);
}

function otherAccount(uid: number, gid: number, name: string | undefined): ServerAccount {
  return { uid, gid, label: label(uid, name), spawnAs: { uid, gid } };
}

function label(uid: number, name: string | undefined): string {
  return name === undefined ? `uid ${uid}` : `${name} (uid ${uid})`;
}

function ownName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    // A uid without a passwd entry, as container platforms assign them.
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
