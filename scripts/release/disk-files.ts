import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";
import type { PackedFile } from "./tar.js";

/** The files below a folder, with paths that begin with `prefix`. */
export function filesBelow(folder: string, prefix: string): readonly PackedFile[] {
  if (!existsSync(folder)) throw new Error(`${folder} is missing: run npm run build first`);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  return entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return fileAt(path, prefix + relative(folder, path));
  });
}

/** The file, or symbolic link, with the path that it gets in an archive. */
export function fileAt(path: string, packedPath: string): PackedFile {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return linkAt(packedPath, readlinkSync(path));
  return { path: packedPath, content: readFileSync(path), isExecutable: (stat.mode & 0o100) !== 0 };
}

export function linkAt(path: string, linkTo: string): PackedFile {
  return { path, content: Buffer.alloc(0), linkTo };
}

export function textFile(path: string, text: string, mode: "program" | "text" = "text"): PackedFile {
  return { path, content: Buffer.from(text), isExecutable: mode === "program" };
}
