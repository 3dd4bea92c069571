import { rmSync } from "node:fs";
import { type FileHandle, link, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { atExit } from "./at-exit.js";
import { newUuid } from "./ids.js";

export class FileExists extends Error {
  override readonly name = "FileExists";
}

/** Ends the names of files that are being written, and of those that killed processes left. */
export const UNFINISHED = ".unfinished";

/**
 * Writes a new file, readable only by its owner, that is there whole or not at all, also after a power cut. Until it is
 * complete it has a unique name, so leftovers of killed runs and concurrent runs do not interfere.
 * @throws {FileExists} if another file has the name meanwhile; also the errors of `write` and of the file system.
 */
export async function writeWholeFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const draft = `${path}.${newUuid()}${UNFINISHED}`;
  const file = await open(draft, "wx", 0o600);
  using _atExit = atExit(() => rmSync(draft, { force: true }));
  try {
    await write(file).finally(() => file.close());
    await nameWhole(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  await syncDirectory(dirname(path));
}

export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** A hard link fails if the file exists, while a rename would replace it. Not all file systems support links. */
async function nameWhole(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch {
    if (await exists(path)) throw new FileExists();
    await rename(draft, path);
  }
}

/** Makes the names in a directory durable. Some file systems cannot, and need not. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r").catch(() => undefined);
  try {
    await directory?.sync().catch(() => {});
  } finally {
    await directory?.close();
  }
}
