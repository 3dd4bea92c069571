import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether a file system can be mounted here: root on Linux, with the capability for it. */
export const canMount = (() => {
  if (process.platform !== "linux") return false;
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-mount-"));
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "none", directory]).status === 0;
  if (isMounted) execFileSync("umount", [directory]);
  rmSync(directory, { recursive: true });
  return isMounted;
})();

/** A file system for one test, small enough to be filled. */
export class SmallDisk implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), "cloakroom-disk-"));
  readonly #filler = join(this.directory, "filler");

  constructor(megabytes: number) {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=755`, "none", this.directory]);
    chmodSync(this.directory, 0o755);
  }

  /** Fills it to the last page. */
  fill(): void {
    const file = openSync(this.#filler, "w");
    try {
      for (const size of [1024 * 1024, 4096]) {
        const block = Buffer.alloc(size);
        while (tryWrite(file, block) === size);
      }
    } finally {
      closeSync(file);
    }
  }

  /** Frees the space again. */
  empty(): void {
    rmSync(this.#filler, { force: true });
  }

  [Symbol.dispose](): void {
    execFileSync("umount", ["-l", this.directory]);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function tryWrite(file: number, block: Buffer): number {
  try {
    return writeSync(file, block);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOSPC") return 0;
    throw error;
  }
}
