import { execFileSync } from "node:child_process";
import { inject } from "vitest";

/**
 * Copies the run's data directory with only the schema to `dataDir`, which must not exist: a tenth of a second, while a
 * server or a command needs two to create and migrate a database. It has no root key: the next start is a first one.
 */
export function copyMigratedData(dataDir: string): string {
  // Node's own copy does not keep the owner, who is not root.
  execFileSync("cp", ["-a", inject("migratedData"), dataDir]);
  return dataDir;
}
