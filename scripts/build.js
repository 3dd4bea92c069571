// Builds dist: `node scripts/build.js`. With --if-changed it does nothing if dist is up to date, so commands start at
// once.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("../", import.meta.url)));

/** Everything that dist is built from. The lock file identifies dependencies. */
const SOURCES = [
  "src",
  "gen",
  "docs",
  "proto",
  "third_party",
  "scripts",
  "clients/typescript/README.md",
  "clients/typescript/src",
  "clients/typescript/tsconfig.json",
  "clients/elements/src",
  "clients/elements/tsconfig.json",
  "README.md",
  "package-lock.json",
  "packages/guest/package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
];
/** Contains the digest of the sources that dist was built from. */
const STAMP = "dist/.built";

const STEPS = [
  [process.execPath, "node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"],
  [process.execPath, "node_modules/typescript/bin/tsc", "-p", "clients/typescript/tsconfig.json"],
  [process.execPath, "node_modules/typescript/bin/tsc", "-p", "clients/elements/tsconfig.json"],
  [process.execPath, "scripts/bundle-program.js"],
  [process.execPath, "scripts/copy-sql.js"],
  [process.execPath, "--import=./scripts/typescript-sources.js", "scripts/bundle-sandbox.ts"],
  [process.execPath, "--import=./scripts/typescript-sources.js", "scripts/build-web.ts"],
  [
    process.execPath,
    "--disable-warning=ExperimentalWarning",
    "--experimental-transform-types",
    "--import=./scripts/typescript-sources.js",
    "scripts/docs/build.ts",
  ],
  [process.execPath, "--import=./scripts/typescript-sources.js", "scripts/pack-protos.ts"],
];

/** By content, not by time: a checkout or a copy changes times and not files, or files and not times. */
function digestOfSources() {
  const hash = createHash("sha256").update(process.versions.node);
  const files = SOURCES.flatMap((source) => (existsSync(source) ? filesIn(source) : [])).toSorted();
  for (const file of files) {
    const content = readFileSync(file);
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function filesIn(path) {
  if (statSync(path).isFile()) return [path];
  const entries = readdirSync(path, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function isBuilt(digest) {
  return existsSync(STAMP) && readFileSync(STAMP, "utf8") === digest;
}

/** `cloakroom --version` shows it. Without a repository there is no such file. */
function writeCommit() {
  const { status, stdout } = spawnSync("git", ["rev-parse", "--short=12", "HEAD"], { encoding: "utf8" });
  if (status === 0) writeFileSync("dist/.commit", stdout);
}

const digest = digestOfSources();
if (!process.argv.includes("--if-changed") || !isBuilt(digest)) {
  rmSync(STAMP, { force: true });
  for (const [program, ...args] of STEPS) {
    const { status } = spawnSync(program, args, { stdio: "inherit" });
    if (status !== 0) process.exit(status ?? 1);
  }
  writeFileSync(STAMP, digest);
}
writeCommit();
