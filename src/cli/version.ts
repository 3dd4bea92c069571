import { readFileSync } from "node:fs";

/** The version of this program, Node.js and the platform. */
export function readVersion(): { readonly version: string; readonly node: string; readonly platform: string } {
  const packageFile = new URL("../../../package.json", import.meta.url);
  const { version }: { version: string } = JSON.parse(readFileSync(packageFile, "utf8"));
  return { version, node: process.versions.node, platform: `${process.platform}-${process.arch}` };
}
