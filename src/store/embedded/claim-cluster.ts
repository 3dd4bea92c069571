import { chmod, chown, lchown, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster } from "./cluster.js";
import { mayEnter } from "./reachability.js";
import { runsAsRoot, type ServerAccount } from "./server-account.js";

/**
 * Makes a stopped server's files fit to run from, whatever way they came here: a copy or a restored backup often has the
 * modes of the umask, with which PostgreSQL refuses to start, and as root often the wrong owner.
 */
export async function claimCluster(cluster: Cluster, account: ServerAccount): Promise<void> {
  if (runsAsRoot()) await claimAsRoot(cluster, account);
  await closeToOthers(cluster.data, 0o700);
  await closeToOthers(cluster.passwordFile, 0o600);
}

async function claimAsRoot({ home, data }: Cluster, account: ServerAccount): Promise<void> {
  if (!(await mayEnter(home, account))) await chmod(home, homeMode());
  if ((await stat(data)).uid === account.uid) return;
  // Closed to everyone else first, so that nobody can exchange parts of the tree while root walks it. A walk that is cut
  // short leaves the top with root, and the next start walks again.
  await chown(data, 0, 0);
  await chmod(data, 0o700);
  await chownBelow(data, account);
  await chown(data, account.uid, account.gid);
}

async function closeToOthers(path: string, mode: number): Promise<void> {
  if (((await stat(path)).mode & 0o077) !== 0) await chmod(path, mode);
}

/** As root the account has to pass through to `data`, which alone is its own. */
export function homeMode(): number {
  return runsAsRoot() ? 0o711 : 0o700;
}

async function chownBelow(directory: string, account: ServerAccount): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await chownBelow(path, account);
    await lchown(path, account.uid, account.gid);
  }
}
