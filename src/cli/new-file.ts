import { link, open, rename, rm, stat } from "node:fs/promises";
import type { Writable } from "node:stream";
import { newUuid } from "../base/ids.js";
import { UsageError } from "./command.js";

/** @throws {UsageError} where something has this name. */
export async function requireNew(path: string): Promise<void> {
  if (await exists(path)) throw new UsageError(`--file ${path} is there already.`);
}

/**
 * Writes a file for its owner alone, whole or not at all, and over no other. Until it is whole it has a name that no other
 * run has: what a killed one left behind, or another one that writes at the same time, is not in its way.
 * @throws {UsageError} where it cannot be made, or another was first.
 */
export async function writeNewFile(path: string, write: (target: Writable) => Promise<void>): Promise<void> {
  const draft = `${path}.${newUuid()}.unfinished`;
  const handle = await open(draft, "wx", 0o600).catch((error: unknown) => {
    throw new UsageError(`--file ${path} cannot be made${isDiskFull(error) ? ": its disk is full" : ""}.`);
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

/** A second name is refused where there is a file; a renamed one would take its place. Not all file systems know the first. */
async function name(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch {
    await requireNew(path);
    await rename(draft, path);
  }
}

/** ENOSPC of the file system, and EDQUOT of a quota on it. What the database says of its own disk has other codes. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}

export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
