import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { exists } from "../base/whole-file.js";
import { LocalRootKey } from "./local-root-key.js";
import { Sensitive } from "./sensitive.js";

const LINE = /^cloakroom-root-key-1\.([a-z0-9]{16})\.([A-Za-z0-9_-]{43})$/;

/** The key file is missing, unreadable or malformed. The message is one line for the operator and says what to do. */
export class KeyFileError extends Error {
  override readonly name = "KeyFileError";
}

/**
 * Creates a key file with a new root key: one line, mode 0600. Never overwrites.
 * @throws {KeyFileError} if the file exists.
 */
export async function createKeyFile(path: string): Promise<LocalRootKey> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const key = newKey();
  await writeNew(path, keyLine(key)).catch((error: unknown) => {
    if (!isExisting(error)) throw error;
    throw new KeyFileError(
      `There is a root key at ${path} already; it is never overwritten. If nothing uses it, move it away.`,
    );
  });
  return key;
}

/**
 * Reads the root keys of a file; the last one wraps. The file has two keys while a root key is being replaced.
 * @throws {KeyFileError} if the file is missing, readable by others, or malformed.
 */
export async function readKeyFile(path: string): Promise<readonly [LocalRootKey, ...LocalRootKey[]]> {
  const found = await stat(path).catch(() => undefined);
  if (!found) {
    throw new KeyFileError(
      `The root key ${path} is missing. Without it nothing stored can be read: restore it from your backup, or name its place in CLOAKROOM_ROOT_KEY_FILE.`,
    );
  }
  if (process.platform !== "win32" && (found.mode & 0o077) !== 0) {
    throw new KeyFileError(`The root key ${path} can be read by others. Run: chmod 600 ${path}`);
  }
  const keys = (await readFile(path, "utf8")).trim().split("\n").map(parseRootKey);
  const [first, ...others] = keys.filter((key) => key !== undefined);
  if (!first || others.length + 1 !== keys.length) {
    throw new KeyFileError(
      `${path} is not a Cloakroom root key. Restore it from your backup, or name another in CLOAKROOM_ROOT_KEY_FILE.`,
    );
  }
  return [first, ...others];
}

/** Appends a new root key and replaces the file atomically. Creates the file if it is missing. */
export async function addToKeyFile(path: string): Promise<LocalRootKey> {
  const keys = (await exists(path)) ? await readKeyFile(path) : [];
  const added = newKey();
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replace(path, [...keys, added]);
  return added;
}

/** Path of the file that keeps a root key after its replacement. */
export function replacedKeyPath(path: string, id: string): string {
  return `${path}.retired-${id}`;
}

/**
 * Moves a root key out of a file into a file of its own, because older backups still need it.
 * @returns the path of that file, or undefined if the key was not in the file.
 */
export async function moveOutOfKeyFile(path: string, id: string): Promise<string | undefined> {
  if (!(await exists(path))) return undefined;
  const keys = await readKeyFile(path);
  const moved = keys.find((key) => key.id === id);
  if (!moved || keys.length === 1) return undefined;
  const keptPath = replacedKeyPath(path, id);
  // An interrupted run may have written it already.
  await replace(keptPath, [moved]);
  await replace(
    path,
    keys.filter((key) => key !== moved),
  );
  return keptPath;
}

/** Whether the id belongs to a key in a file. Keys in a service have ids of another form. */
export function isFileKeyId(id: string): boolean {
  return /^[a-z0-9]{16}$/.test(id);
}

function newKey(): LocalRootKey {
  return new LocalRootKey(randomBytes(8).toString("hex"), new Sensitive(randomBytes(32)));
}

function parseRootKey(line: string): LocalRootKey | undefined {
  const [, id, secret] = LINE.exec(line.trim()) ?? [];
  return id && secret ? new LocalRootKey(id, new Sensitive(Buffer.from(secret, "base64url"))) : undefined;
}

function keyLine(key: LocalRootKey): string {
  return `cloakroom-root-key-1.${key.id}.${key.export().reveal().toString("base64url")}\n`;
}

async function replace(path: string, keys: readonly LocalRootKey[]): Promise<void> {
  const draft = `${path}.new`;
  await rm(draft, { force: true });
  await writeNew(draft, keys.map(keyLine).join(""));
  await rename(draft, path);
  await syncDirectory(path);
}

/** Writes a file that only its owner can read, and syncs it to disk. */
export async function writeNew(path: string, text: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncDirectory(path);
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(dirname(path), constants.O_RDONLY);
  await directory.sync().finally(() => directory.close());
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}
