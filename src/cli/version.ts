import { type BuildVersion, readBuildVersion } from "../base/build-version.js";

export interface Version extends BuildVersion {
  readonly node: string;
  readonly platform: string;
}

export function readVersion(): Version {
  return { ...readBuildVersion(), node: process.versions.node, platform: `${process.platform}-${process.arch}` };
}

export function versionLine(asJson: boolean): string {
  const read = readVersion();
  const { version, commit, node, platform } = read;
  if (asJson) return JSON.stringify(read);
  const details = [...(commit === undefined ? [] : [`commit ${commit}`]), `Node.js ${node}`, platform];
  return `cloakroom ${version} (${details.join(", ")})`;
}
