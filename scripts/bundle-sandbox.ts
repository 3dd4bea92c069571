// Builds dist/sandbox, which contains everything that the runner process may read: the runner and its worker, each
// bundled into one file, the engine, the guest world as a snapshot, and the packages that tenant code may require as
// bytecode. None of it is committed; `npm run build` creates it, and so does the tests' global setup if it is older
// than its sources.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type * as Builder from "../src/sandbox/engine/quickjs/build-guest-image.js";
import { guestBundles } from "./guest-packages.js";
import { bundleForNode, bundleGuest, type GuestPackage } from "./sandbox-bundles.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const image = join(root, "dist/sandbox");
const sandbox = join(root, "src/sandbox");

/**
 * The packages that tenant code may require. `from` is the name in packages/guest/package.json if another version of the package has
 * its own name there; `entry` replaces the package's own entry file if that reads files at run time.
 * Preloaded packages are part of the snapshot: they cost memory in every instance (lodash 0.45 MB) and no time. The
 * others, and the modules of Node.js that come from npm, are evaluated when they are required (node-forge: 4.5 ms).
 */
interface Catalogue {
  readonly packages: readonly (GuestPackage & { readonly preloaded?: boolean })[];
  readonly nodeModules: readonly string[];
  readonly refused: readonly { readonly names: readonly string[]; readonly why: string }[];
}

const engineFiles = {
  "quickjs.wasm": "quickjs.wasm",
  "encoding.wasm": "encoding.so",
  "structured-clone.wasm": "structured-clone.so",
};

/** Changes with every input of the image. */
function fingerprint(): string {
  const hash = createHash("sha256");
  const ours = readdirSync(sandbox, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const scripts = ["bundle-sandbox.ts", "guest-packages.ts", "sandbox-bundles.ts"];
  const others = [...scripts.map((name) => `scripts/${name}`), "package-lock.json", "packages/guest/package-lock.json"];
  for (const file of [...ours, ...others.map((path) => join(root, path))]) {
    hash.update(file.slice(root.length)).update("\0").update(readFileSync(file));
  }
  return hash.digest("hex");
}

/** Renames are atomic, so a runner that starts meanwhile finds complete files. */
function put(name: string, content: string | Uint8Array): void {
  const target = join(image, name);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(`${target}.${process.pid}`, content);
  renameSync(`${target}.${process.pid}`, target);
}

async function bundleSandbox(): Promise<void> {
  const marker = join(image, "fingerprint");
  const wanted = fingerprint();
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return;
  for (const [file, specifier] of Object.entries(engineFiles)) {
    put(file, readFileSync(fileURLToPath(import.meta.resolve(`quickjs-wasi/${specifier}`))));
  }
  const catalogue: Catalogue = JSON.parse(readFileSync(join(sandbox, "packages.json"), "utf8"));
  const nodeModules = catalogue.nodeModules.map((name) => ({ name, entry: `${name}/` }));
  const bundles = await guestBundles([...catalogue.packages, ...nodeModules]);
  const preloadedNames = catalogue.packages.filter((entry) => entry.preloaded).map(({ name }) => name);
  const preloaded = new Map([...bundles].filter(([name]) => preloadedNames.includes(name)));
  const onDemand = new Map([...bundles].filter(([name]) => !preloadedNames.includes(name)));
  const [guest, runner, worker, builder] = await Promise.all([
    bundleGuest({
      preloaded,
      onDemand: catalogue.packages.filter((entry) => !entry.preloaded).map(({ name }) => name),
      refused: catalogue.refused.flatMap(({ names, why }) => names.map((name) => [name, why] as const)),
    }),
    bundleForNode("runner/main.ts"),
    bundleForNode("worker/main.ts"),
    bundleForNode("engine/quickjs/build-guest-image.ts"),
  ]);
  put("package.json", '{ "type": "module" }\n');
  put("runner.js", runner);
  put("worker.js", worker);
  // Written next to the image rather than into it: the runner does not need it.
  const builderFile = join(root, "dist/build-guest-image.mjs");
  writeFileSync(builderFile, builder);
  const { buildGuestImage }: typeof Builder = await import(pathToFileURL(builderFile).href);
  const { snapshot, entries, packages } = await buildGuestImage(image, guest, onDemand);
  put("snapshot.bin", snapshot);
  put("entries.json", JSON.stringify(entries));
  rmSync(join(image, "packages"), { recursive: true, force: true });
  for (const [name, bytecode] of packages) put(`packages/${encodeURIComponent(name)}`, bytecode);
  put("fingerprint", wanted);
}

await bundleSandbox();
