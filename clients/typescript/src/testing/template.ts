import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Making a database and its schema takes about five seconds, and more on a busy machine. */
const INIT_TIMEOUT_MS = 120_000;

/** A file in a prepared directory, in which the server refuses to start: what it writes would be in every copy. */
const MARK = "template";

/**
 * A data directory that is prepared once for each build of the server: an embedded database with its schema and root key,
 * and no tenant. It is kept in the user's cache, or in CLOAKROOM_TEST_CACHE.
 */
export async function preparedDirectory(program: string): Promise<string> {
  const cache = cacheDirectory();
  const template = join(cache, `vault-${identityOf(program)}`);
  if (existsSync(template)) return template;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, "draft-"));
  const made = emptyDirectory();
  try {
    await initialize(program, join(made, "data"));
    await copy(join(made, "data"), join(draft, "data"));
    try {
      // Two runs may prepare it at once. The first wins, and both use that one.
      renameSync(draft, template);
    } catch (error) {
      if (!existsSync(template)) throw error;
    }
  } finally {
    for (const directory of [draft, made]) rmSync(directory, { recursive: true, force: true });
  }
  return template;
}

/** @throws {Error} if the database is not in the directory. */
async function initialize(program: string, dataDir: string): Promise<void> {
  // The settings of a server that runs here are not those of this one.
  const env = { PATH: process.env.PATH, CLOAKROOM_DATA_DIR: dataDir };
  await run(process.execPath, [program, "init"], { env, timeout: INIT_TIMEOUT_MS });
  if (!readdirSync(dataDir).some((name) => /^pg\d+$/.test(name))) {
    throw new Error(
      `PostgreSQL does not run as root, and its user cannot enter ${tmpdir()}. Set TMPDIR to a directory that is open to others.`,
    );
  }
  writeFileSync(join(dataDir, MARK), "Tests copy this directory. A server does not start in it.\n");
}

/** Copies a prepared directory. */
export async function copyOf(template: string): Promise<string> {
  const directory = emptyDirectory();
  await copy(join(template, "data"), join(directory, "data"));
  rmSync(join(directory, "data", MARK), { force: true });
  return directory;
}

/**
 * A temporary directory that other users may enter: PostgreSQL does not run as root, and its user cannot enter the cache
 * in root's home.
 */
function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-vault-"));
  chmodSync(directory, 0o755);
  return directory;
}

/** Copies a directory, without its blocks where the file system can share them. */
async function copy(from: string, to: string): Promise<void> {
  // Node's own copy does not keep the owner, which is another than ours where we are root.
  const share = process.platform === "linux" ? ["--reflink=auto"] : [];
  await run("cp", ["-a", ...share, from, to]);
}

export function cacheDirectory(): string {
  const base = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  return process.env.CLOAKROOM_TEST_CACHE ?? join(base, "cloakroom", "testing");
}

/** Another build of the server, or another user or platform, needs another directory. */
function identityOf(program: string): string {
  const stamp = join(dirname(program), "..", ".built");
  const build = existsSync(stamp) ? readFileSync(stamp, "utf8") : String(statSync(program).mtimeMs);
  const parts = [program, build, process.platform, process.arch, process.versions.node, String(process.getuid?.())];
  return createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 16);
}
