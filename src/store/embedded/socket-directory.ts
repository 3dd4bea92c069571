import { createHash } from "node:crypto";
import { chown, mkdtemp, readdir, realpath, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { databaseErrorCode } from "../postgres/database-error.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { inaccessibleParent, ownAccount, type ServerAccount } from "./server-account.js";

/** The port only names the socket file: PostgreSQL does not listen on TCP. */
export const PORT = 5432;

const SOCKET = `.s.PGSQL.${PORT}`;
const OURS = /^cloakroom-\w+$/;
/** sockaddr_un holds 108 bytes on Linux and 104 on macOS, with the closing zero. */
const MAX_SOCKET_PATH_LENGTH = process.platform === "darwin" ? 103 : 107;

/**
 * Makes a new directory with mode 0700 for the server's socket. It is in the temporary directory, because the path of the data
 * directory may be too long for a socket and its file system may not support sockets; not in $XDG_RUNTIME_DIR, which is
 * removed when its user logs out. `postmaster.pid` names it for other processes.
 * @param data PostgreSQL's data directory, whose server is not running
 */
export async function createSocketDirectory(data: string, account: ServerAccount): Promise<string> {
  const parent = await parentDirectory(account);
  // Containers that share a temporary directory may have other volumes at the same path.
  const { dev, ino } = await stat(data);
  const prefix = `cloakroom-${createHash("sha256").update(`${data}\0${dev}\0${ino}`).digest("hex").slice(0, 8)}_`;
  // A process that exited without a stop left its server's directory behind, empty by now.
  const left = (await readdir(parent)).filter((name) => name.startsWith(prefix));
  for (const name of left) await rmdir(join(parent, name)).catch(() => {});
  const directory = await mkdtemp(join(parent, prefix));
  if (account.uid !== ownAccount().uid) await chown(directory, account.uid, account.gid);
  return directory;
}

/** Removes the directory of a server that has ended. Skips directories that were not made here. */
export async function removeSocketDirectory(directory: string): Promise<void> {
  if (!OURS.test(basename(directory))) return;
  try {
    for (const name of [SOCKET, `${SOCKET}.lock`]) await rm(join(directory, name), { force: true });
    await rmdir(directory);
  } catch (error) {
    if (!["ENOENT", "EACCES", "EPERM", "ENOTEMPTY"].includes(databaseErrorCode(error))) throw error;
  }
}

async function parentDirectory(account: ServerAccount): Promise<string> {
  for (const candidate of [tmpdir(), "/tmp"]) {
    const parent = await realpath(candidate).catch(() => "");
    const socket = join(parent, "cloakroom-01234567_XXXXXX", SOCKET);
    // PostgreSQL parses the setting as a list, in which commas and quotes have a meaning.
    const isPlain = /^[\w./+@-]+$/.test(parent);
    if (!isPlain || Buffer.byteLength(socket) > MAX_SOCKET_PATH_LENGTH) continue;
    if ((await inaccessibleParent(join(parent, "socket"), account)) === undefined) return parent;
  }
  throw new EmbeddedDatabaseError(
    `${account.label}, who runs PostgreSQL, has no directory for its socket. Set TMPDIR to a short path that this user may write to.`,
  );
}
