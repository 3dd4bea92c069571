// Computes: 8 s
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";

const root = mkdtempSync(join(tmpdir(), "own node "));
const own = join(root, "packages/tools/bin/node");
afterAll(() => rmSync(root, { recursive: true }));

/** A program that says its version, notes that it was asked, and otherwise says its name. */
function writeNode(folder: string, version: string, name: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "node");
  const said = `if [ "$1" = --version ]; then echo ${name} >> "${root}/asked"; echo v${version}; else echo ${name} "$@"; fi`;
  writeFileSync(file, `#!/bin/sh\n${said}\n`);
  chmodSync(file, 0o755);
  return folder;
}

/** Folders of a PATH, by what their `node` is. */
const folders = {
  none: join(root, "empty"),
  old: writeNode(join(root, "old"), "20.20.2", "old"),
  new: writeNode(join(root, "new"), "24.0.0", "new"),
  newer: writeNode(join(root, "newer"), "26.1.0", "newer"),
  /** What installers make of it: a link, and a script that runs it. */
  link: join(root, "a/node_modules/.bin"),
  wrapper: join(root, "b/node_modules/.bin"),
} as const;
type Kind = keyof typeof folders;
const KINDS: readonly Kind[] = ["none", "old", "new", "newer", "link", "wrapper"];

cpSync("packages/tools", join(root, "packages/tools"), { recursive: true });
writeNode(join(root, "packages/node/node_modules/node-any/bin"), "24.21.0", "installed");
for (const file of ["package-lock.json", "node_modules/.installed"])
  writeFileSync(join(root, "packages/node", file), "1");
for (const folder of [folders.link, folders.wrapper]) mkdirSync(folder, { recursive: true });
symlinkSync(own, join(folders.link, "node"));
writeFileSync(join(folders.wrapper, "node"), `#!/bin/sh\nexec "${own}" "$@"\n`, { mode: 0o755 });

function run(kinds: readonly Kind[]): string {
  const path = [...kinds.map((kind) => folders[kind]), "/usr/bin", "/bin"];
  // Those of this machine are not part of the test.
  const tools = path.filter((folder) => folder.startsWith(root));
  const found = spawnSync(own, ["a b"], { encoding: "utf8", env: { PATH: [...tools, bin].join(delimiter) } });
  return found.stderr + found.stdout;
}

/** The commands that the script runs, without a Node. */
const bin = join(root, "bin");
mkdirSync(bin);
for (const name of ["cmp", "readlink", "dirname", "sh", "cat", "sed", "env"]) {
  symlinkSync(spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim(), join(bin, name));
}

describe("the node of this checkout", () => {
  beforeEach(() => {
    for (const name of ["asked", "packages/node/.choice"]) rmSync(join(root, name), { force: true });
  });

  it("is the first of the PATH if that is new enough, otherwise the installed one: every PATH of three folders", () => {
    const paths = KINDS.flatMap((one) => KINDS.flatMap((two) => KINDS.map((three) => [one, two, three] as const)));
    const wrong = paths.filter((kinds) => {
      const first = kinds.find((kind) => kind === "old" || kind === "new" || kind === "newer");
      return run(kinds) !== `${first === undefined || first === "old" ? "installed" : first} a b\n`;
    });
    expect(wrong).toEqual([]);
    expect(paths).toHaveLength(216);
  });

  it("asks a Node for its version once", () => {
    for (let count = 0; count < 3; count += 1) expect(run(["old"])).toBe("installed a b\n");
    expect(run(["new"])).toBe("new a b\n");
    expect(run(["new", "old"])).toBe("new a b\n");
    expect(readFileSync(join(root, "asked"), "utf8")).toBe("old\nnew\n");
  });

  it("says what is missing where no package of Node fits the processor", () => {
    const installed = join(root, "packages/node/node_modules/node-any");
    rmSync(installed, { recursive: true });
    expect(run(["old"])).toContain("Cloakroom needs Node.js 24 or newer");
    expect(run(["new"])).toBe("new a b\n");
  });
});
