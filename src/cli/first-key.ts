import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Sensitive } from "../crypto/sensitive.js";

/**
 * Writes the secret from `provision` to a file that only its owner can read, replacing the file of an earlier vault.
 * Opens the file first: otherwise a key that was created and could not be written would be lost.
 * @returns the path of the file.
 */
export async function writeFirstSecret(
  dataDir: string,
  name: "first-management-key" | "first-sign-in-link",
  provision: () => Promise<Sensitive<string>>,
): Promise<string> {
  const file = join(dataDir, name);
  const draft = `${file}.unfinished`;
  await rm(draft, { force: true });
  const handle = await open(draft, "wx", 0o600);
  try {
    const secret = await provision();
    await handle.writeFile(`${secret.reveal()}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  return file;
}
