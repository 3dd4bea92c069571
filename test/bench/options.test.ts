import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

const CALLS: readonly (readonly [program: string, args: readonly string[], shown: string])[] = [
  ["main", ["--help"], "[--against VALUE]"],
  ["main", ["--turn"], "[--turns]"],
  ["main", ["--import", "--tokens", "many"], "[--tokens N], a whole number from 1"],
  ["scale/main", ["--help"], "[--largest VALUE] [--minutes VALUE]"],
  ["scale/main", ["--minutes", "0"], "[--minutes N], a whole number from 1"],
  ["log/main", ["--help"], "[ROWS], a whole number; default: 1000000"],
  ["sealing", ["--tenants", "5"], "[TENANTS], a whole number; default: 10000"],
  ["failover", ["5", "6"], "[ROUNDS], a whole number; default: 5"],
];

describe("benchmarks", () => {
  it.each(CALLS)("answer wrong arguments with a line of the options: %s %s", (program, args, shown) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [`dist/test/bench/${program}.js`, ...args], {
      encoding: "utf8",
    });
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^Options of this benchmark: [^\n]*\n$/);
    expect(stderr).toContain(shown);
    expect(status).toBe(2);
  });
});
