import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "../base/whole-file.js";
import { writeNew } from "../crypto/key-file.js";
import type { Sensitive } from "../crypto/sensitive.js";
import { UsageError } from "./usage-error.js";

const REASONS = new Map([
  ["EEXIST", "it is a file"],
  ["ENOTDIR", "it lies below a file"],
  ["EACCES", "it may not be written"],
  ["EPERM", "it may not be written"],
  ["EROFS", "it may not be written"],
  ["ENOSPC", "its disk is full"],
  ["EDQUOT", "its disk is full"],
]);

/** @throws {UsageError} if any of the share files exists: it may be all that is left of a root key. */
export async function requireNewShares(directory: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await requireNewShare(shareFile(directory, index, count));
}

async function requireNewShare(path: string): Promise<void> {
  if (await exists(path)) throw new UsageError(`${path} exists already. Name another directory with --out.`);
}

/**
 * Writes each share into a file of its own, or none at all.
 * @returns the files.
 * @throws {UsageError} if one cannot be written.
 */
export async function writeShares(directory: string, shares: readonly Sensitive<string>[]): Promise<readonly string[]> {
  const files: string[] = [];
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for (const [index, share] of shares.entries()) {
      const path = shareFile(directory, index, shares.length);
      await requireNewShare(path);
      files.push(path);
      await writeNew(path, `${share.reveal()}\n`);
    }
    return files;
  } catch (error) {
    await removeShares(files);
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const reason = REASONS.get(code);
    throw reason === undefined ? error : new UsageError(`--out ${directory} cannot hold the shares: ${reason}.`);
  }
}

export async function removeShares(files: readonly string[]): Promise<void> {
  for (const file of files) await rm(file, { force: true });
}

function shareFile(directory: string, index: number, count: number): string {
  return join(directory, `share-${index + 1}-of-${count}`);
}
