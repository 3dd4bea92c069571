import { existsSync } from "node:fs";

/** The place of a file or folder of this package, such as `dist/web/`. */
export function packageFile(path: string): URL {
  return new URL(path, packageRoot());
}

/** The folder of package.json: sources, compiled files and bundles lie at different depths below it. */
function packageRoot(): URL {
  for (let folder = new URL(".", import.meta.url); ; folder = new URL("..", folder)) {
    if (existsSync(new URL("package.json", folder))) return folder;
    if (folder.pathname === "/") throw new Error("package.json is missing above this program");
  }
}
