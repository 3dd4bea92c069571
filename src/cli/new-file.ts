import type { Writable } from "node:stream";
import { exists, FileExists, writeWholeFile } from "../base/whole-file.js";
import { UsageError } from "./usage-error.js";

/** @throws {UsageError} if the path exists. */
export async function requireNew(path: string): Promise<void> {
  if (await exists(path)) throw alreadyExists(path);
}

/**
 * Writes a new file, readable only by its owner, whole or not at all.
 * @throws {UsageError} if it cannot be created, or another run created it first.
 */
export async function writeNewFile(path: string, write: (target: Writable) => Promise<void>): Promise<void> {
  let isOpen = false;
  try {
    await writeWholeFile(path, (file) => {
      isOpen = true;
      return write(file.createWriteStream({ flush: true }));
    });
  } catch (error) {
    if (error instanceof FileExists) throw alreadyExists(path);
    if (!isOpen) {
      throw new UsageError(`--file ${path} cannot be created${isDiskFullError(error) ? ": its disk is full" : ""}.`);
    }
    throw isDiskFullError(error) ? new UsageError(`--file ${path} cannot be written: its disk is full.`) : error;
  }
}

function alreadyExists(path: string): UsageError {
  return new UsageError(`--file ${path} already exists.`);
}

/** ENOSPC of the file system, and EDQUOT of a quota. The database reports its own disk with other codes. */
export function isDiskFullError(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
