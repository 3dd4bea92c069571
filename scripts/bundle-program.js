// Bundles the program, its commands and the server, into dist/src/cli, in place of what tsc emitted there: one file that
// starts, and chunks that are loaded on use. Unbundled, a server finds, reads and links 1,700 files at each start, and a
// command spends most of its time so. Not minified: the place of an error is a line that can be read. Names of functions and
// classes are not kept: esbuild would wrap each closure where it is made, which takes 13 to 15 % of a request. Errors name
// themselves (`override readonly name`).
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../", import.meta.url));

/**
 * Packages that few starts need are chunks too, loaded on use. esbuild 0.28 gives a package in CommonJS that is imported
 * on use no export but "default": a module between names the exports that Node finds in the package.
 */
const packagesOnUse = {
  name: "packages-on-use",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind, resolveDir, importer }) => {
      if (kind !== "dynamic-import" || path.startsWith("node:") || importer.includes("node_modules")) return undefined;
      if (path === "openpgp") return undefined;
      return { path, namespace: "on-use", pluginData: resolveDir };
    });
    onLoad({ filter: /.*/, namespace: "on-use" }, async ({ path, pluginData }) => {
      const names = Object.keys(await import(path)).filter((name) => /^[A-Za-z_$][\w$]*$/.test(name));
      const exported = names.map((name) =>
        name === "default" ? "export default all.default;" : `export const ${name} = all.${name};`,
      );
      const lines = [`import * as all from ${JSON.stringify(path)};`, ...exported];
      return { contents: lines.join("\n"), resolveDir: pluginData };
    });
  },
};

rmSync(`${root}dist/src/cli/chunks`, { recursive: true, force: true });
// Compiled from earlier bundles: see src/main.ts.
rmSync(`${root}dist/.compile-cache`, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ["src/cli/entry.ts"],
  outdir: "dist/src/cli",
  chunkNames: "chunks/[name]-[hash]",
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22",
  tsconfig: "tsconfig.json",
  logLevel: "warning",
  plugins: [packagesOnUse],
  // LGPL: a file of its own that operators can replace.
  external: ["openpgp"],
  metafile: true,
  // Packages in CommonJS require modules of Node.js.
  banner: {
    js: 'import { createRequire as requireFor } from "node:module";\nconst require = requireFor(import.meta.url);',
  },
});

// What the program is made of, for the release's notices and bill of materials.
writeFileSync(`${root}dist/src/cli/inputs.json`, JSON.stringify(packagesAmong(Object.keys(metafile.inputs))));

/** The folders of packages that files belong to, such as `node_modules/fastify`. */
function packagesAmong(files) {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders.map((folder) => folder.replace(/^on-use:/, "")))].toSorted();
}
