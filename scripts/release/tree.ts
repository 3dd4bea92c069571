import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { databaseFiles, serverTree } from "./linux-tree.js";
import type { Source } from "./source.js";
import type { PackedFile } from "./tar.js";

/** Lays out `server/` and `database/` for the layers of a container image, for the processor that this runs on. */
export function layTree(source: Source, out: string): void {
  lay(serverTree(source), join(out, "server"));
  lay(databaseFiles(process.arch === "arm64" ? "arm64" : "x64"), join(out, "database"));
}

function lay(files: readonly PackedFile[], folder: string): void {
  for (const { path, content, isExecutable, linkTo } of files) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    if (linkTo === undefined) writeFileSync(target, content, { mode: isExecutable ? 0o755 : 0o644 });
    else symlinkSync(linkTo, target);
  }
}
