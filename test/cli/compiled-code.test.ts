import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newDirectory } from "../support/new-directory.js";

describe("The compiled code of the program", () => {
  let directory: string;
  let preload: string;
  beforeAll(() => {
    directory = newDirectory();
    preload = join(directory, "preload.mjs");
    const source = 'import { getCompileCacheDir } from "node:module";\n';
    writeFileSync(preload, `${source}process.once("exit", () => console.log("kept in", getCompileCacheDir()));\n`);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const run = (program: string) =>
    execFileSync(process.execPath, ["--import", preload, program, "--version"], { encoding: "utf8", stdio: "pipe" });

  it("is kept beside the program, and not where other accounts can write", () => {
    expect(run("dist/src/main.js")).toContain(`kept in ${resolve("dist/.compile-cache")}/`);
  });

  it("is not kept if the place cannot be written to, which changes nothing else", () => {
    mkdirSync(join(directory, "dist/src"), { recursive: true });
    for (const path of ["package.json", "dist/src/main.js", "dist/src/cli"]) {
      cpSync(path, join(directory, path), { recursive: true });
    }
    // Root may write everywhere, so a file takes the place of the folder.
    writeFileSync(join(directory, "dist/.compile-cache"), "");
    const { version }: { version: string } = JSON.parse(readFileSync("package.json", "utf8"));
    const [first, second] = run(join(directory, "dist/src/main.js")).split("\n");
    expect(first).toContain(version);
    expect(second).toBe("kept in undefined");
  });
});
