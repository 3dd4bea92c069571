import { existsSync, readFileSync } from "node:fs";
import { packageFile } from "./package-files.js";

export interface BuildVersion {
  readonly version: string;
  /** Absent in a build from other sources than a repository. */
  readonly commit?: string;
}

export function readBuildVersion(): BuildVersion {
  const { version }: { version: string } = JSON.parse(readFileSync(packageFile("package.json"), "utf8"));
  // scripts/build.js writes it.
  const commitFile = packageFile("dist/.commit");
  return existsSync(commitFile) ? { version, commit: readFileSync(commitFile, "utf8").trim() } : { version };
}
