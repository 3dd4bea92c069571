import { link, open, rename, rm, stat } from "node:fs/promises";
import type { Writable } from "node:stream";
import { newUuid } from "../base/ids.js";
import { UsageError } from "./usage-error.js";

/** @throws {UsageError} if the path exists. */
export async function requireNew(path: string): Promise<void> {
  if (await exists(path)) throw new UsageError(`--file ${path} already exists.`);
}

/**
 * Writes a new file, readable only by its owner, atomically. Until it is complete it has a unique name, so leftovers of
 * killed runs and concurrent runs do not interfere.
 * @throws {UsageError} if it cannot be created, or another run created it first.
 */
export async function writeNewFile(path: string, write: (target: Writable) => Promise<void>): Promise<void> {
  const draft = `${path}.${newUuid()}.unfinished`;
  const handle = await open(draft, "wx", 0o600).catch((error: unknown) => {
    throw new UsageError(`--file ${path} cannot be created${isDiskFull(error) ? ": its disk is full" : ""}.`);
  });
  try {
    await write(handle.createWriteStream({ flush: true })).catch((error: unknown) => {
      throw isDiskFull(error) ? new UsageError(`--file ${path} cannot be written: its disk is full.`) : error;
    });
    await name(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/** A hard link fails if the file exists, while a rename would replace it. Not all file systems support links. */
async function name(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch {
    await requireNew(path);
    await rename(draft, path);
  }
}

/** ENOSPC of the file system, and EDQUOT of a quota. The database reports its own disk with other codes. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}

export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
