import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Outside of node_modules, which `npm ci` empties. */
const KEPT = ".deps/packages";

/** Where packages are installed, with the lock files that name them. Node is a project of its own. */
const PROJECTS = [
  { lock: "package-lock.json", installed: "node_modules" },
  { lock: "packages/node/package-lock.json", installed: "packages/node/node_modules" },
];

/**
 * The folder of a package in a lock file: installed if it fits this machine, otherwise downloaded once and compared
 * with the digest in the lock file.
 */
export function packageFolder(name: string): string {
  const installed = PROJECTS.map((project) => join(project.installed, name)).find((folder) => existsSync(folder));
  if (installed !== undefined) return installed;
  const { version, integrity } = locked(name);
  const folder = join(KEPT, `${name.replaceAll("/", "-")}-${version}`);
  if (!existsSync(folder)) download(`${name}@${version}`, integrity, folder);
  return join(folder, "package");
}

function locked(name: string): { version: string; integrity: string } {
  for (const { lock } of PROJECTS) {
    const { packages } = JSON.parse(readFileSync(lock, "utf8"));
    const found = packages[`node_modules/${name}`];
    if (found?.integrity) return found;
  }
  throw new Error(`No lock file names ${name}`);
}

function download(specifier: string, integrity: string, folder: string): void {
  mkdirSync(KEPT, { recursive: true });
  const scratch = mkdtempSync(join(KEPT, "part-"));
  try {
    run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", scratch, specifier]);
    const archive = join(scratch, readdirSync(scratch)[0] ?? "");
    const digest = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
    if (digest !== integrity) throw new Error(`${specifier} differs from its lock file: ${digest}`);
    run("tar", ["-xzf", archive, "-C", scratch, "--no-same-owner"]);
    rmSync(archive);
    renameSync(scratch, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function run(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`${program} ${args[0]} failed${error ? `: ${error.message}` : ""}`);
}
