import { readFileSync } from "node:fs";
import { fileAt, filesBelow, textFile } from "./disk-files.js";
import { notices } from "./notices.js";
import { type Source, shortCommit } from "./source.js";
import type { PackedFile } from "./tar.js";

/**
 * The server's files that are loaded at run time, and nothing else. `package.json` is not among them: it differs between
 * an npm package and a folder with Node inside.
 */
export function serverFiles(source: Source): readonly PackedFile[] {
  return [
    textFile("dist/.commit", `${shortCommit(source)}\n`),
    textFile(
      "dist/src/main.js",
      `#!/usr/bin/env node\n${withoutMap(readFileSync("dist/src/main.js", "utf8"))}`,
      "program",
    ),
    fileAt("dist/src/cli/entry.js", "dist/src/cli/entry.js"),
    ...filesBelow("dist/src/cli/chunks", "dist/src/cli/chunks/"),
    ...filesBelow("dist/src/store/migrations", "dist/src/store/migrations/").filter(({ path }) =>
      path.endsWith(".sql"),
    ),
    fileAt("dist/protos.tar.gz", "dist/protos.tar.gz"),
    ...filesBelow("dist/docs", "dist/docs/"),
    ...filesBelow("dist/web", "dist/web/").filter(({ path }) => !NOT_SERVED.has(path)),
    ...filesBelow("dist/sandbox", "dist/sandbox/").filter(
      ({ path }) => !path.startsWith(GUEST_PACKAGES) && path !== "dist/sandbox/fingerprint",
    ),
    // Beside the runner, which may read nothing else, and which starts threads from a file of this package.
    ...PISCINA.flatMap((part) => packagePart("node_modules/piscina", part, "dist/sandbox/node_modules/piscina")),
    fileAt("LICENSE", "LICENSE"),
    textFile("THIRD-PARTY-NOTICES.txt", notices()),
  ];
}

const NOT_SERVED = new Set(["dist/web/meta.json", "dist/web/fingerprint"]);
const GUEST_PACKAGES = "dist/sandbox/packages/";
const PISCINA = ["package.json", "LICENSE", "dist"];

/** The packages that tenants' code may require, as bytecode. */
export function guestPackageFiles(prefix: string): readonly PackedFile[] {
  return filesBelow("dist/sandbox/packages", prefix);
}

function packagePart(folder: string, part: string, prefix: string): readonly PackedFile[] {
  if (part.includes(".") || part === "LICENSE") return [fileAt(`${folder}/${part}`, `${prefix}/${part}`)];
  return filesBelow(`${folder}/${part}`, `${prefix}/${part}/`).filter(({ path }) => /\.(?:m?js|json|cjs)$/.test(path));
}

function withoutMap(text: string): string {
  return text.replace(/\n\/\/# sourceMappingURL=.*\n?$/, "\n");
}
