// Bundles the program, its commands and the server, into dist/src/cli, in place of what tsc emitted there: one file that
// starts, and chunks that are loaded on use. Unbundled, a server finds, reads and links 1,700 files at each start, and a
// command spends most of its time so. Not minified: the place of an error is a line that can be read.
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../", import.meta.url));

rmSync(`${root}dist/src/cli/chunks`, { recursive: true, force: true });
// Compiled from earlier bundles: see src/main.ts.
rmSync(`${root}dist/.compile-cache`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: ["src/cli/entry.ts"],
  outdir: "dist/src/cli",
  chunkNames: "chunks/[name]-[hash]",
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  keepNames: true,
  format: "esm",
  platform: "node",
  target: "node24",
  tsconfig: "tsconfig.json",
  logLevel: "warning",
  plugins: [
    {
      // esbuild 0.28 gives a package in CommonJS that is imported on use no export but "default". Few starts need one.
      name: "packages-on-use",
      setup({ onResolve }) {
        onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
          kind === "dynamic-import" ? { path, external: true } : undefined,
        );
      },
    },
  ],
  // Packages in CommonJS require modules of Node.js.
  banner: {
    js: 'import { createRequire as requireFor } from "node:module";\nconst require = requireFor(import.meta.url);',
  },
});
