import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, realpath, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { codeOf } from "../database-error.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { barrierBefore } from "./reachability.js";
import { processIds, type ServerAccount } from "./server-account.js";

/** The port only names the socket file: nothing listens on TCP. */
export const PORT = 5432;

const SOCKET = `.s.PGSQL.${PORT}`;
/** sockaddr_un holds 108 bytes on Linux and 104 on macOS, with the closing zero. */
const LONGEST_SOCKET_PATH = process.platform === "darwin" ? 103 : 107;
const NAME = /^cloakroom-[0-9a-f]{16}$/;

/**
 * Makes the directory for the socket of a stopped server, empty and with mode 0700. It lies in the temporary directory,
 * since a data directory may be too deep for a socket, and on a file system that has none; and not in $XDG_RUNTIME_DIR,
 * which goes away when its user logs out. The name comes from path, device and inode of the data: containers that share a
 * temporary directory may well use the same path for different volumes.
 * @param data PostgreSQL's data directory
 * @throws EmbeddedDatabaseError when somebody else owns a directory of that name
 */
export async function openSocketDirectory(data: string, account: ServerAccount): Promise<string> {
  const { dev, ino } = await stat(data);
  const hash = createHash("sha256").update(`${data}\0${dev}\0${ino}`).digest("hex");
  const directory = join(await socketBase(account), `cloakroom-${hash.slice(0, 16)}`);
  await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
  await takeOver(directory, account);
  await removeSockets(directory);
  return directory;
}

/** Removes what a server that has ended left there. Directories that were not made here stay. */
export async function removeSocketDirectory(directory: string): Promise<void> {
  if (!NAME.test(basename(directory))) return;
  try {
    await removeSockets(directory);
    await rmdir(directory);
  } catch (error) {
    // Gone already, or not ours to remove: it would be refused or emptied at the next start.
    if (!["ENOENT", "EACCES", "EPERM", "ENOTEMPTY"].includes(codeOf(error))) throw error;
  }
}

async function removeSockets(directory: string): Promise<void> {
  await rm(join(directory, SOCKET), { force: true });
  await rm(join(directory, `${SOCKET}.lock`), { force: true });
}

async function socketBase(account: ServerAccount): Promise<string> {
  for (const candidate of [tmpdir(), "/tmp"]) {
    const base = await realpath(candidate).catch(() => undefined);
    if (base === undefined) continue;
    const socket = join(base, "cloakroom-0123456789abcdef", SOCKET);
    // PostgreSQL takes the directory as a list, in which commas and quotes mean something.
    const plain = /^[\w./+@-]+$/.test(base);
    const reachable = (await barrierBefore(join(base, "socket"), account)) === undefined;
    if (plain && reachable && Buffer.byteLength(socket) <= LONGEST_SOCKET_PATH) return base;
  }
  throw new EmbeddedDatabaseError(
    `${account.label}, who runs PostgreSQL, has no directory for its socket. Set TMPDIR to a short path that this user may write to.`,
  );
}

/** Works on the opened directory, not on its name: in between, its owner could put a link in its place. */
async function takeOver(directory: string, account: ServerAccount): Promise<void> {
  const handle = await openDirectory(directory);
  try {
    const { uid } = await handle.stat();
    const own = processIds().uid;
    if (uid !== account.uid && uid !== own) throw hostile(directory, `it belongs to uid ${uid}`);
    if (uid !== account.uid) await handle.chown(account.uid, account.gid);
    await handle.chmod(0o700);
  } finally {
    await handle.close();
  }
}

async function openDirectory(directory: string) {
  try {
    return await open(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    switch (codeOf(error)) {
      case "ENOTDIR":
      case "ELOOP":
        throw hostile(directory, "it is not a directory");
      case "EACCES":
        throw hostile(directory, "it belongs to somebody else");
      default:
        throw error;
    }
  }
}

function hostile(directory: string, reason: string): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `The socket of the database cannot be put into ${directory}: ${reason}, and Cloakroom did not make it.\n` +
      "Remove it, or set TMPDIR to a directory that only this user can write to.",
  );
}
