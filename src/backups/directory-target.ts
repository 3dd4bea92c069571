import { createReadStream } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { FileExists, writeWholeFile } from "../base/whole-file.js";
import { BackupError } from "./backup-error.js";
import type { BackupTarget } from "./backup-target.js";

export class DirectoryTarget implements BackupTarget {
  readonly name: string;

  constructor(directory: string) {
    this.name = directory;
  }

  async list(): Promise<readonly string[]> {
    try {
      return await readdir(this.name);
    } catch (error) {
      throw this.#failed("read", error);
    }
  }

  async write(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    let ofContent: unknown;
    try {
      await writeWholeFile(join(this.name, name), async (file) => {
        const source = watched(content, (error) => {
          ofContent = error;
        });
        await pipeline(source, file.createWriteStream({ flush: true }));
      });
    } catch (error) {
      throw ofContent ?? this.#failed("written to", error);
    }
  }

  async *read(name: string): AsyncGenerator<Uint8Array> {
    try {
      yield* createReadStream(join(this.name, name));
    } catch (error) {
      throw this.#failed("read", error);
    }
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.name, name), { force: true }).catch((error: unknown) => {
      throw this.#failed("written to", error);
    });
  }

  #failed(verb: string, error: unknown): BackupError {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: "it or the file does not exist",
      ENOTDIR: "it is no directory",
      EACCES: "this user has no permission",
      EROFS: "it is read-only",
      ENOSPC: "its disk is full",
      EDQUOT: "its quota is used up",
    };
    const isThere = error instanceof FileExists ? "a file has the name already" : undefined;
    const reason = isThere ?? reasons[code ?? ""] ?? code ?? "unknown error";
    return new BackupError(`The directory ${this.name} cannot be ${verb}: ${reason}.`);
  }
}

/** Tells errors of the content from those of its destination. */
async function* watched(content: AsyncIterable<Uint8Array>, onError: (error: unknown) => void) {
  try {
    yield* content;
  } catch (error) {
    onError(error);
    throw error;
  }
}
