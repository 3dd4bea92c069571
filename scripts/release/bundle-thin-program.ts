import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { PackedFile } from "./tar.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The program without operators' commands: they say that they need the server's package. */
export async function bundleThinProgram(): Promise<readonly PackedFile[]> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["src/cli/entry.ts"],
    outdir: `${root}dist/cli`,
    chunkNames: "chunks/[name]-[hash]",
    ...{ bundle: true, splitting: true, write: false, format: "esm", platform: "node", target: "node22" },
    ...{ tsconfig: "tsconfig.json", logLevel: "warning" },
    // LGPL: a package of its own that users can replace.
    external: ["openpgp"],
    banner: {
      js: 'import { createRequire as requireFor } from "node:module";\nconst require = requireFor(import.meta.url);',
    },
    plugins: [
      {
        name: "without-server",
        setup({ onResolve }) {
          const withoutServer = { path: `${root}src/cli/without-server.ts` };
          onResolve({ filter: /^\.\/command-line\.js$/ }, () => withoutServer);
          // The table of operators' commands is in their help. What it loads to run them is not.
          onResolve({ filter: /^\.\.\// }, ({ kind, importer }) =>
            kind === "dynamic-import" && importer.startsWith(`${root}src/cli/table/`) ? withoutServer : undefined,
          );
        },
      },
    ],
  });
  return outputFiles.map(({ path, contents }) => {
    const packed = path.slice(root.length);
    const isEntry = packed === "dist/cli/entry.js";
    const content = isEntry ? Buffer.concat([Buffer.from("#!/usr/bin/env node\n"), contents]) : contents;
    return { path: packed, content, isExecutable: isEntry };
  });
}
