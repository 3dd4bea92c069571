import { execFileSync } from "node:child_process";

/** Builds the runner's files if its sources changed since the last build. Takes a second. */
export default function setup(): void {
  const flags = ["--import=./scripts/typescript-sources.js"];
  execFileSync(process.execPath, [...flags, "scripts/bundle-sandbox.ts"], { stdio: "inherit" });
}
