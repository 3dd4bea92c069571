import { existsSync, readFileSync } from "node:fs";

/** What this program was built from. */
export interface BuildVersion {
  readonly version: string;
  /** Absent in a build from other sources than a repository. */
  readonly commit?: string;
}

export function readBuildVersion(): BuildVersion {
  const root = packageRoot();
  const { version }: { version: string } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  // scripts/build.js writes it.
  const commitFile = new URL("dist/.commit", root);
  return existsSync(commitFile) ? { version, commit: readFileSync(commitFile, "utf8").trim() } : { version };
}

/** The folder of package.json, at another depth for each bundle that this file is part of. */
function packageRoot(): URL {
  for (let folder = new URL(".", import.meta.url); ; folder = new URL("..", folder)) {
    if (existsSync(new URL("package.json", folder))) return folder;
    if (folder.pathname === "/") throw new Error("package.json is missing above this program");
  }
}
