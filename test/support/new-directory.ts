import { chmodSync, existsSync, mkdtempSync, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Linux keeps it in memory. */
const IN_MEMORY = "/dev/shm";
/** Several files at a time have databases of some 50 MB each, and copies of PostgreSQL's programs. */
const NEEDED = 4 * 1024 ** 3;

/** A new directory for databases that every user may enter, as PostgreSQL's account must; `onDisk` for measurements. */
export function newDirectory({ onDisk = false } = {}): string {
  const directory = mkdtempSync(join(onDisk ? tmpdir() : parent(), "cloakroom-store-"));
  chmodSync(directory, 0o755);
  return directory;
}

/**
 * Test data must survive killed processes, not a power cut: in memory a copy of a database takes 0.1 s of processor
 * time and not 0.4 to 1, and nothing waits for the disk. TMPDIR moves it elsewhere.
 */
function parent(): string {
  if (process.env.TMPDIR !== undefined || !existsSync(IN_MEMORY)) return tmpdir();
  const mount = readFileSync("/proc/mounts", "utf8").match(/^\S+ \/dev\/shm tmpfs (\S+)/m)?.[1] ?? "noexec";
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return mount.split(",").includes("noexec") || bavail * bsize < NEEDED ? tmpdir() : IN_MEMORY;
}
