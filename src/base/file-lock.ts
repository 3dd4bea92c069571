import { DatabaseSync } from "node:sqlite";

/** SQLite's result code for a lock that another connection holds. */
const SQLITE_BUSY = 5;

/**
 * A lock of the kernel on an empty file. Processes in other containers on the same volume see it, and it ends with its
 * process, however that ends. Node has no call for such locks, but SQLite transactions take them. No other code of this
 * process may open the file: closing any descriptor of a file drops the process's locks on it.
 */
export class FileLock implements Disposable {
  readonly #connection: DatabaseSync;

  private constructor(connection: DatabaseSync) {
    this.#connection = connection;
  }

  /**
   * Returns undefined if another process, or another caller in this one, holds the lock.
   * @param file is there, and empty.
   * @throws Error if the file system has no locks, or the file is another one
   */
  static tryTake(file: string, mode: "exclusive" | "shared" = "exclusive"): FileLock | undefined {
    let connection: DatabaseSync | undefined;
    try {
      connection = new DatabaseSync(file, { timeout: 0 });
      // A journal file could not be written on a full disk.
      connection.exec("pragma journal_mode = memory");
      // The read transaction keeps its shared lock until the connection closes.
      connection.exec(mode === "exclusive" ? "begin exclusive" : "begin; select count(*) from sqlite_schema");
      return new FileLock(connection);
    } catch (error) {
      connection?.close();
      if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) return undefined;
      throw error;
    }
  }

  release(): void {
    if (this.#connection.isOpen) this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
