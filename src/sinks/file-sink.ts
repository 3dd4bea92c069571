import { constants } from "node:fs";
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type LogSink, type SinkRecord, sinkFailure } from "./sink.js";

export interface FileSinkOptions {
  readonly path: string;
  /** A file that has grown beyond this is renamed, and a new one begun. */
  readonly bytes: number;
}

const TAIL_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Lines of JSON in a file, on its disk before the position moves. */
export class FileSink implements LogSink {
  readonly name = "file";
  readonly unsureForMs = 0;
  readonly #options: FileSinkOptions;
  #handle: FileHandle | undefined;

  constructor(options: FileSinkOptions) {
    this.#options = options;
  }

  async send(records: readonly SinkRecord[]): Promise<void> {
    try {
      const handle = await this.#open();
      await handle.appendFile(records.map(({ fields }) => `${JSON.stringify(fields)}\n`).join(""));
      await handle.datasync();
      const { size } = await handle.stat();
      if (size >= this.#options.bytes) await this.#rotate();
    } catch (error) {
      // What was written in part is cut off when the file is opened again.
      await this.close();
      throw sinkFailure("the file of CLOAKROOM_AUDIT_FILE cannot be written", error);
    }
  }

  async confirm(): Promise<void> {}

  takeLost(): boolean {
    return false;
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => {});
  }

  /** The open file, unless another program has renamed or removed it since. */
  async #open(): Promise<FileHandle> {
    const { path } = this.#options;
    if (this.#handle) {
      const [mine, named] = await Promise.all([this.#handle.stat(), stat(path).catch(() => undefined)]);
      if (named && named.ino === mine.ino && named.dev === mine.dev) return this.#handle;
      await this.close();
    }
    const { O_APPEND, O_CREAT, O_RDWR } = constants;
    const handle = await open(path, O_APPEND | O_CREAT | O_RDWR, 0o600);
    this.#handle = handle;
    // A new file is lost with the power until its folder is on the disk.
    await syncFolder(path);
    await cutTornLine(handle);
    return handle;
  }

  async #rotate(): Promise<void> {
    const { path } = this.#options;
    await this.close();
    await rename(path, `${path}.${new Date().toISOString().replaceAll(":", "-")}`);
    await syncFolder(path);
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), constants.O_RDONLY);
  await folder.sync().finally(() => folder.close());
}

/** A crash may leave the beginning of a line, of any length. Its row is sent again. */
async function cutTornLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  for (let end = size; end > 0; end -= TAIL_BYTES) {
    const tail = Buffer.alloc(Math.min(end, TAIL_BYTES));
    await handle.read(tail, 0, tail.length, end - tail.length);
    const newline = tail.lastIndexOf(NEWLINE);
    if (newline < 0) continue;
    const whole = end - tail.length + newline + 1;
    if (whole < size) await handle.truncate(whole);
    return;
  }
  if (size > 0) await handle.truncate(0);
}
