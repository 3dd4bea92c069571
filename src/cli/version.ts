import { existsSync, readFileSync } from "node:fs";

/** The version of this program, Node.js and the platform. */
export interface Version {
  readonly version: string;
  /** The commit that it was built from; absent in a build from other sources than a repository. */
  readonly commit?: string;
  readonly node: string;
  readonly platform: string;
}

export function readVersion(): Version {
  const packageFile = new URL("../../../package.json", import.meta.url);
  const { version }: { version: string } = JSON.parse(readFileSync(packageFile, "utf8"));
  // scripts/build.js writes it.
  const commitFile = new URL("../../.commit", import.meta.url);
  const commit = existsSync(commitFile) ? { commit: readFileSync(commitFile, "utf8").trim() } : {};
  return { version, ...commit, node: process.versions.node, platform: `${process.platform}-${process.arch}` };
}

/** The version in one line, or as JSON. */
export function versionLine(asJson: boolean): string {
  const read = readVersion();
  const { version, commit, node, platform } = read;
  if (asJson) return JSON.stringify(read);
  const details = [...(commit === undefined ? [] : [`commit ${commit}`]), `Node.js ${node}`, platform];
  return `cloakroom ${version} (${details.join(", ")})`;
}
