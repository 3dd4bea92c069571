import { execFileSync } from "node:child_process";
import { inject } from "vitest";

/**
 * Copies the data directory of the run that has the schema and nothing else to `dataDir`, which must not exist: a tenth of
 * a second, where a server or a command takes two to make and migrate a database. There is no root key yet: the next start
 * is a first one.
 */
export function copyMigratedData(dataDir: string): string {
  // Node's own copy leaves the owner behind, who is not root.
  execFileSync("cp", ["-a", inject("migratedData"), dataDir]);
  return dataDir;
}
