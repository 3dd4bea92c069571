// The npm packages that tenants' code may require, each bundled into one script. They are a project of their own,
// packages/guest: 400 packages that nothing else needs. The first build installs them there, bundles them and removes them
// again; later builds read the bundles, until a version or the bundling changes.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { version as esbuildVersion } from "esbuild";
import { bundlePackage, type GuestPackage } from "./sandbox-bundles.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const project = join(root, "packages/guest");
/** Outside of node_modules, which `npm ci` empties. */
const kept = join(project, "bundles");

/** What the bundles are made from, besides the packages' names. */
const INPUTS = ["packages/guest/package-lock.json", "scripts/sandbox-bundles.ts", "scripts/guest-packages.ts"];

/** The code of each package by its name. Installs the packages if they were not bundled before. */
export async function guestBundles(packages: readonly GuestPackage[]): Promise<ReadonlyMap<string, string>> {
  const file = join(kept, `${digestOf(packages)}.json`);
  if (!existsSync(file)) await bundleInto(file, packages);
  const codes: Readonly<Record<string, string>> = JSON.parse(readFileSync(file, "utf8"));
  return new Map(Object.entries(codes));
}

function digestOf(packages: readonly GuestPackage[]): string {
  const hash = createHash("sha256").update(JSON.stringify([esbuildVersion, packages]));
  for (const input of INPUTS) hash.update("\0").update(readFileSync(join(root, input)));
  return hash.digest("hex").slice(0, 32);
}

async function bundleInto(file: string, packages: readonly GuestPackage[]): Promise<void> {
  install();
  process.stderr.write(`Bundling ${packages.length} packages for tenants' code ...\n`);
  const codes: Record<string, string> = {};
  for (const guestPackage of packages) codes[guestPackage.name] = await bundlePackage(guestPackage);
  // Those of other versions: a checkout needs one.
  if (existsSync(kept)) for (const name of readdirSync(kept)) rmSync(join(kept, name));
  mkdirSync(kept, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(codes));
  renameSync(`${file}.${process.pid}`, file);
  rmSync(join(project, "node_modules"), { recursive: true, force: true });
}

function install(): void {
  process.stderr.write(
    "Installing the packages of tenants' code, once for each packages/guest/package-lock.json ...\n",
  );
  // No script of a package runs here. An outer npm hands its settings down, such as the place of its project.
  const environment = Object.entries(process.env).filter(([name]) => !/^npm_(config|package|lifecycle)_/i.test(name));
  const { status, error } = spawnSync("npm", ["ci", "--prefix", project, "--ignore-scripts", "--no-progress"], {
    cwd: project,
    env: Object.fromEntries(environment),
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status === 0) return;
  process.stderr.write(
    `They could not be installed${error ? ` (${error.message})` : ""}. Run again with the package registry in reach: npm ci --prefix packages/guest\n`,
  );
  process.exit(1);
}
