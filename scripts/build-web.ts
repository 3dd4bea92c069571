// Builds dist/web: the bundles that browsers load from the vault, with hashed names, compressed, and two lists:
// manifest.json for the server and meta.json (esbuild's metafile) for budgets. Does nothing if no input has changed.
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { type BuildOptions, type BuildResult, build } from "esbuild";
import type { WebEntry, WebManifest } from "../src/api/web/web-build.js";
import { BROWSERS } from "./browsers.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const target = join(root, "dist/web");

/** A bundle: the page or program that it is for, and its first file. */
interface Entry {
  readonly name: string;
  readonly source: string;
}

/** Each is one file, because a frame is small and loads alone. */
const ELEMENTS: readonly Entry[] = [
  { name: "elements/elements", source: "clients/elements/src/global.ts" },
  { name: "elements/field", source: "src/web/elements/field.ts" },
  { name: "elements/controller", source: "src/web/elements/controller.ts" },
  { name: "elements/notice", source: "src/web/elements/notice.css" },
];
/** Split into parts that load on demand. */
const CONSOLE: readonly Entry[] = [{ name: "console/main", source: "src/web/console/main.tsx" }];

/** Everything that the bundles are made of. The lock file identifies packages. */
const INPUTS = [
  "src/web/**/*",
  "src/token-files/*",
  "clients/*/src/**/*",
  "gen/cloakroom/**/*",
  "scripts/{build-web,browsers}.ts",
  "package-lock.json",
];

const OPTIONS: BuildOptions = {
  absWorkingDir: root,
  outdir: target,
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  sourcemap: false,
  logLevel: "warning",
  platform: "browser",
  target: BROWSERS,
  charset: "utf8",
  legalComments: "none",
  entryNames: "[dir]/[name]-[hash]",
  chunkNames: "[dir]/[name]-[hash]",
  assetNames: "[dir]/[name]-[hash]",
  // Its main build is for Node's streams.
  alias: { "csv-parse": "csv-parse/browser/esm" },
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".svg": "file", ".woff2": "file", ".png": "file" },
};

function fingerprint(): string {
  const hash = createHash("sha256").update(process.versions.node);
  const files = INPUTS.flatMap((pattern) => globSync(pattern, { cwd: root })).toSorted();
  for (const file of files.filter((name) => statSync(join(root, name)).isFile())) {
    hash
      .update(file)
      .update("\0")
      .update(readFileSync(join(root, file)));
  }
  return hash.digest("hex");
}

function bundle(entries: readonly Entry[], options: BuildOptions): Promise<BuildResult> {
  const existing = entries.filter(({ source }) => existsSync(join(root, source)));
  const entryPoints = existing.map(({ name, source }) => ({ in: source, out: name }));
  return build({ ...OPTIONS, ...options, entryPoints });
}

const compressors = {
  br: (content: Uint8Array) =>
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
  gz: (content: Uint8Array) => promisify(gzip)(content, { level: 9 }),
};

async function write(folder: string, path: string, content: Uint8Array): Promise<void> {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
  for (const [ending, compress] of Object.entries(compressors)) {
    writeFileSync(join(folder, `${path}.${ending}`), await compress(content));
  }
}

/** The files that a page loads first, by the name of its entry. */
function manifestOf({ metafile, outputFiles }: BuildResult, entries: readonly Entry[]): WebManifest {
  const outputs = Object.entries(metafile?.outputs ?? {});
  return Object.fromEntries(
    entries.flatMap(({ name, source }): [string, WebEntry][] => {
      const [path, output] = outputs.find(([, { entryPoint }]) => entryPoint === source) ?? [];
      if (path === undefined) return [];
      const content = outputFiles?.find((file) => file.path === join(root, path))?.contents ?? new Uint8Array();
      const integrity = `sha384-${createHash("sha384").update(content).digest("base64")}`;
      const imports = output?.imports
        .filter(({ kind }) => kind === "import-statement")
        .map((each) => nameOf(each.path));
      const styles = output?.cssBundle === undefined ? [] : [nameOf(output.cssBundle)];
      return [[name, { file: nameOf(path), styles, imports: imports ?? [], integrity }]];
    }),
  );
}

/** A path of esbuild's without the output folder. */
function nameOf(path: string): string {
  return path.replace(/^dist\/web\//, "");
}

async function buildWeb(): Promise<void> {
  const wanted = fingerprint();
  const marker = join(target, "fingerprint");
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return;
  const [elements, console] = await Promise.all([
    bundle(ELEMENTS, { format: "iife" }),
    bundle(CONSOLE, { format: "esm", splitting: true, jsx: "automatic", chunkNames: "console/[name]-[hash]" }),
  ]);
  const results = [elements, console];
  const fresh = `${target}.${process.pid}`;
  const files = results.flatMap(({ outputFiles }) => outputFiles ?? []);
  await Promise.all(files.map(({ path, contents }) => write(fresh, path.slice(target.length + 1), contents)));
  const put = (name: string, content: unknown) => writeFileSync(join(fresh, name), JSON.stringify(content));
  mkdirSync(fresh, { recursive: true });
  put("manifest.json", { ...manifestOf(elements, ELEMENTS), ...manifestOf(console, CONSOLE) });
  put("meta.json", {
    inputs: Object.assign({}, ...results.map(({ metafile }) => metafile?.inputs)),
    outputs: Object.assign({}, ...results.map(({ metafile }) => metafile?.outputs)),
  });
  writeFileSync(join(fresh, "fingerprint"), wanted);
  rmSync(target, { recursive: true, force: true });
  renameSync(fresh, target);
}

await buildWeb();
