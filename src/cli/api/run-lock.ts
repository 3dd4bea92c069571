import { rmSync, statSync, writeFileSync } from "node:fs";
import { FileLock } from "../../base/file-lock.js";

/**
 * Keeps a second run off a file, by a lock file beside it that is removed at the end. A run that was killed leaves one
 * behind, which holds nothing off. A process id in it would: in the next container another process has the same one.
 */
export class RunLock implements Disposable {
  readonly #path: string;
  readonly #lock: FileLock;

  private constructor(path: string, lock: FileLock) {
    this.#path = path;
    this.#lock = lock;
  }

  /**
   * Returns undefined if another run holds the lock.
   * @throws Error if the file cannot be created or locked
   */
  static tryTake(path: string): RunLock | undefined {
    for (;;) {
      create(path);
      const found = identityOf(path);
      const lock = FileLock.tryTake(path);
      if (!lock) return undefined;
      // Its holder may have removed it meanwhile, and another run have made the next one.
      if (found !== undefined && identityOf(path) === found) return new RunLock(path, lock);
      lock.release();
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { force: true });
    this.#lock.release();
  }
}

/** Opens none that is there: see {@link FileLock}. */
function create(path: string): void {
  try {
    writeFileSync(path, "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino} ${found.ctimeNs}`;
}
