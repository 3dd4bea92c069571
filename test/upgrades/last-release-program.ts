import { execFile } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Has @cloakroom/server of the last release as its only dependency, once one is published: docs/releases.md. */
const PUBLISHED = "packages/last-release";

/** The program of the last release. Before the first one it is the package of this commit, made in `directory`. */
export async function lastReleaseProgram(directory: string): Promise<string> {
  if (existsSync(join(PUBLISHED, "package-lock.json"))) {
    await run("packages/tools/install", ["last-release"]);
    return resolve(PUBLISHED, "node_modules/@cloakroom/server/dist/src/main.js");
  }
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  await run(process.execPath, [
    ...["--disable-warning=ExperimentalWarning", "--experimental-transform-types"],
    ...["--import=./scripts/typescript-sources.js", "scripts/release.ts", "--version", version],
    ...["--only", "server", "--allow-changes", "--out", directory],
  ]);
  await run("tar", ["-xzf", join(directory, `cloakroom-server-${version}.tgz`), "-C", directory]);
  // Its optional packages, which npm would install beside it.
  symlinkSync(resolve("node_modules"), join(directory, "package/node_modules"));
  return join(directory, "package/dist/src/main.js");
}
