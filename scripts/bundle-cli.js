// Bundles the commands over the API into dist/src/cli, in place of what tsc emitted there: one file that starts, and
// chunks that are loaded on use. Unbundled, such a command spends most of its time reading files.
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../", import.meta.url));

rmSync(`${root}dist/src/cli/chunks`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: ["src/cli/entry.ts"],
  outdir: "dist/src/cli",
  chunkNames: "chunks/[name]-[hash]",
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  minify: true,
  keepNames: true,
  format: "esm",
  platform: "node",
  target: "node24",
  tsconfig: "tsconfig.json",
  logLevel: "warning",
  plugins: [
    {
      // Commands for operators load the server, which is not bundled.
      name: "operator-commands",
      setup({ onResolve }) {
        onResolve({ filter: /\/command-line\.js$/ }, ({ path }) => ({ path, external: true }));
      },
    },
  ],
});
