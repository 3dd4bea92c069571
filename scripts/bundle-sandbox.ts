// Builds dist/sandbox, which holds all that the runner process may read: the runner and its worker, each bundled into
// one file, the engine, the guest world as a snapshot, and the packages that tenant code may require as bytecode. Nothing
// of it is committed; `npm run build` makes it, and so does the tests' global setup where it is older than its sources.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import type * as Builder from "../src/sandbox/engine/quickjs/build-world.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const image = join(root, "dist/sandbox");
const sandbox = join(root, "src/sandbox");

/**
 * The npm packages that tenant code may require, beside those written in src/sandbox/guest (axios, node-fetch). All are
 * plain JavaScript. Preloaded ones are part of the snapshot: they cost memory in every instance (lodash 0.45 MB) and no
 * time. The others are evaluated where they are required (node-forge: 4.5 ms).
 */
const preloadedPackages = ["lodash", "uuid", "fast-xml-parser", "csv-parse/sync"];
const loadedPackages = [
  "crypto-js",
  "csv-parse",
  "json-stable-stringify",
  "jsonpath",
  "node-forge",
  "p-limit",
  "snakecase-keys",
  "xmlbuilder2",
  "yup",
];

const engineFiles = { "quickjs.wasm": "quickjs.wasm", "encoding.wasm": "encoding.so" };

/** Entry files where a package's own is of no use: that of jsonpath reads files at run time. */
const entries: Readonly<Record<string, string>> = { jsonpath: "jsonpath/jsonpath.js" };

/** What stands for Node's modules in the guest world. */
const builtins: Readonly<Record<string, string>> = {
  buffer: "buffer/index.js",
  events: "events/events.js",
  querystring: "querystring-es3/index.js",
  stream: "stream-browserify/index.js",
  string_decoder: "string_decoder/lib/string_decoder.js",
  util: "util/util.js",
};

const forGuest: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  write: false,
  format: "cjs",
  target: "es2022",
  minifyWhitespace: true,
  minifySyntax: true,
  define: { global: "globalThis", "process.env.NODE_ENV": '"production"' },
  inject: [join(sandbox, "guest/process.ts")],
  // Its other form puts some thirty functions into the global object.
  alias: { tslib: join(root, "node_modules/tslib/tslib.es6.mjs") },
  logLevel: "error",
};

/** `(function (module, require) { ... })`: Node's modules come from the guest's own `require`. */
async function bundlePackage(name: string): Promise<string> {
  const code = await bundled({
    ...forGuest,
    platform: "node",
    mainFields: ["main"],
    stdin: { contents: `module.exports = require("${entries[name] ?? name}")`, resolveDir: root },
  });
  return `(function (module, require) { var exports = module.exports; ${code}\n})`;
}

/** A script whose value is the function that builds the world. */
async function bundleGuest(preloaded: ReadonlyMap<string, string>): Promise<string> {
  const packages = [...preloaded].map(([name, code]) => `${JSON.stringify(name)}: ${code}`);
  const plugin: Plugin = {
    name: "guest",
    setup({ onResolve, onLoad }) {
      const names = Object.keys(builtins).join("|");
      onResolve({ filter: new RegExp(`^(node:)?(${names})/?$`) }, ({ path }) => ({
        path: join(root, "node_modules", builtins[path.replace(/^node:|\/$/g, "")] ?? path),
      }));
      onResolve({ filter: /^guest:packages$/ }, ({ path }) => ({ path, namespace: "guest" }));
      onLoad({ filter: /.*/, namespace: "guest" }, () => ({
        contents: `export const preloaded = { ${packages.join(",\n")} };
          export const loadedNames = ${JSON.stringify(loadedPackages)};`,
      }));
    },
  };
  const code = await bundled({
    ...forGuest,
    platform: "neutral",
    mainFields: ["main"],
    plugins: [plugin],
    entryPoints: [join(sandbox, "guest/boot.ts")],
  });
  return `(function () { var module = { exports: {} }; ${code}\nreturn module.exports.default; })()`;
}

/** Piscina stays outside: it starts its threads from a file of its own. */
function bundleForNode(entry: string): Promise<string> {
  return bundled({
    absWorkingDir: root,
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node22",
    external: ["piscina"],
    entryPoints: [join(sandbox, entry)],
    logLevel: "error",
  });
}

async function bundled(options: BuildOptions): Promise<string> {
  const { outputFiles = [] } = await build({ ...options, write: false });
  return outputFiles.map(({ text }) => text).join("");
}

async function bundlePackages(names: readonly string[]): Promise<Map<string, string>> {
  const codes = await Promise.all(names.map(bundlePackage));
  return new Map(names.map((name, index) => [name, codes[index] ?? ""]));
}

/** Changes with everything that the image is made from. */
function fingerprint(): string {
  const hash = createHash("sha256");
  const ours = readdirSync(sandbox, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of [...ours, fileURLToPath(import.meta.url), join(root, "package-lock.json")]) {
    hash.update(file.slice(root.length)).update("\0").update(readFileSync(file));
  }
  return hash.digest("hex");
}

/** Renames are atomic, so a runner that starts meanwhile finds whole files. */
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
  const [preloaded, loaded] = await Promise.all([bundlePackages(preloadedPackages), bundlePackages(loadedPackages)]);
  const [guest, runner, worker, builder] = await Promise.all([
    bundleGuest(preloaded),
    bundleForNode("runner/main.ts"),
    bundleForNode("worker/main.ts"),
    bundleForNode("engine/quickjs/build-world.ts"),
  ]);
  put("package.json", '{ "type": "module" }\n');
  put("runner.js", runner);
  put("worker.js", worker);
  // Written beside the image rather than into it: the runner has no use for it.
  const builderFile = join(root, "dist/build-world.mjs");
  writeFileSync(builderFile, builder);
  const { buildWorld }: typeof Builder = await import(pathToFileURL(builderFile).href);
  const { snapshot, entries, packages } = await buildWorld(image, guest, loaded);
  put("snapshot.bin", snapshot);
  put("entries.json", JSON.stringify(entries));
  rmSync(join(image, "packages"), { recursive: true, force: true });
  for (const [name, bytecode] of packages) put(`packages/${encodeURIComponent(name)}`, bytecode);
  put("fingerprint", wanted);
}

await bundleSandbox();
