import { execFileSync } from "node:child_process";
import { cpSync, realpathSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { installedPackage } from "../../../../src/store/embedded/postgres-programs.js";
import { newDirectory } from "../../../support/new-directory.js";

let copy: string | undefined;

/**
 * The package with PostgreSQL in a place that every account can reach: a copy, if the checkout is below a directory that only
 * its owner may enter. There the server would first copy the package into each data directory.
 */
export function openPackage(): string | undefined {
  const installed = installedPackage();
  if (installed === undefined || isOpen(realpathSync(installed))) return installed;
  copy ??= copyOf(installed);
  return copy;
}

function isOpen(directory: string): boolean {
  const isPassable = (statSync(directory).mode & 0o001) !== 0;
  return isPassable && (directory === dirname(directory) || isOpen(dirname(directory)));
}

function copyOf(installed: string): string {
  const directory = newDirectory();
  const packageDir = join(directory, "package");
  cpSync(installed, packageDir, { recursive: true, verbatimSymlinks: true });
  execFileSync("chmod", ["-R", "a+rX", directory]);
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  return packageDir;
}
