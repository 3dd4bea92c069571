import { type BuildVersion, readBuildVersion } from "../base/build-version.js";

/** The version of this program, Node.js and the platform. */
export interface Version extends BuildVersion {
  readonly node: string;
  readonly platform: string;
}

export function readVersion(): Version {
  return { ...readBuildVersion(), node: process.versions.node, platform: `${process.platform}-${process.arch}` };
}

/** The version in one line, or as JSON. */
export function versionLine(asJson: boolean): string {
  const read = readVersion();
  const { version, commit, node, platform } = read;
  if (asJson) return JSON.stringify(read);
  const details = [...(commit === undefined ? [] : [`commit ${commit}`]), `Node.js ${node}`, platform];
  return `cloakroom ${version} (${details.join(", ")})`;
}
