import { execFileSync } from "node:child_process";

/** The published libraries of payment services are a project of their own, installed before the first test. */
export default function setup(): void {
  execFileSync("packages/tools/install", ["oracles"], { stdio: "inherit" });
}
