import { constants } from "node:fs";
import { type FileHandle, open, rm, writeFile } from "node:fs/promises";

/** How large the log may grow before its older part makes room, in bytes. */
export const LOG_LIMIT = 10 * 1024 * 1024;

const FAILURE = /\b(FATAL|PANIC): {2}(.*)/;

/**
 * The file that takes PostgreSQL's stderr. The server writes to it by itself, not through a pipe of ours, because it may
 * outlive us; it appends, so that the file can be cut while it is open.
 */
export class ServerLog {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** For the server to inherit; the caller closes it. Never follows a link, since root may be opening it. */
  async open(): Promise<FileHandle> {
    const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
    return open(this.#path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600);
  }

  /** The size in bytes: where the next line will begin. */
  async end(): Promise<number> {
    const file = await this.open();
    try {
      return (await file.stat()).size;
    } finally {
      await file.close();
    }
  }

  /** Moves the newest part of a log that has grown beyond the limit to `<log>.1` and empties the log. */
  async bound(limit = LOG_LIMIT): Promise<void> {
    const file = await this.open();
    try {
      const { size } = await file.stat();
      if (size <= limit) return;
      const older = `${this.#path}.1`;
      const kept = await read(file, size - limit, limit);
      await rm(older, { force: true });
      await writeFile(older, kept, { mode: 0o600, flag: "wx" });
      await file.truncate(0);
    } finally {
      await file.close();
    }
  }

  /** The last fatal complaint after that position, without its prefix. */
  async lastFailure(since: number): Promise<string | undefined> {
    const file = await this.open();
    try {
      const { size } = await file.stat();
      const from = Math.max(since, size - 64 * 1024);
      const lines = (await read(file, from, Math.max(0, size - from))).toString("utf8").split("\n");
      return lines.flatMap((line) => FAILURE.exec(line)?.[2] ?? []).at(-1);
    } finally {
      await file.close();
    }
  }
}

async function read(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
  return buffer.subarray(0, bytesRead);
}
