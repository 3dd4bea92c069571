import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "prose-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function check(...options: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/check-prose.ts", ...options, folder], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("the prose check", () => {
  it("accepts plain sentences", () => {
    write("README.md", "The caller holds a key. The server checks it in flight, and stands for nothing else.\n");
    const stdout = "prose: 0 places.\n";
    expect(check()).toEqual({ status: 0, stdout, stderr: "" });
  });

  it.each([
    ["whoever", "The row names whoever wrote it."],
    ["anew", "The value is sealed anew."],
    ["nobody", "Nobody reads it."],
    ["stands", "The rule stands in the table."],
    ["is told", "The caller is told of an error."],
    ["is none", "A key that is none is refused. There is none."],
    ["so that", "It waits so that others go first."],
    ["so that", "It waits so\nthat others go first."],
    ["inverted else", "The vault would else be empty."],
    ["for want of", "It is refused for want of a key."],
    ["archaic", "The row and the key thereof are gone."],
    ["relative clause without a noun", "It waits. Whose caller has left needs no response."],
    ["relative clause without a noun", "- One whose key is gone fails."],
    ["made-up name", "Both share a flight."],
    ["answer as a noun", "The server sends an empty answer."],
    ["answer as a noun", "The size of answers is bounded."],
    ["document outside of the repository", "It takes 35 ms (storage study 4.5)."],
    ["document outside of the repository", "Sessions end after an hour, as the specification says."],
    ["long line", "word ".repeat(29)],
  ])("finds %s in a document: %s", (rule, sentence) => {
    write("docs/decisions/0001-x.md", `# A page\n\n${sentence}\n`);
    const { status, stderr } = check();
    expect(status).toBe(1);
    expect(stderr).toContain(`documents: "${rule}" occurs 1 times.`);
    expect(stderr).toMatch(/docs\/decisions\/0001-x\.md:3: ".*"\. Write: /);
  });

  it.each([
    'it("that is lost fails", go);',
    'it.each(["a"])("of %s is kept", go);',
    'test.each([\n  1,\n])(\n  "by %s", go);',
  ])("finds a title that begins in the middle of a sentence: %s", (line) => {
    write("test/a.test.ts", line);
    expect(check().stderr).toContain('test: "title that begins in the middle of a sentence" occurs 1 times.');
  });

  it("accepts answer as a verb", () => {
    write("README.md", "All nodes answer. A server that answers returns 200, and the log answers who read a token.\n");
    expect(check().status).toBe(0);
  });

  it("accepts a question", () => {
    write("README.md", "Who may read a token?\n");
    expect(check().status).toBe(0);
  });

  it("joins the lines of a comment and ignores imports", () => {
    write("src/a.ts", 'import { a } from "../flight/aboard.js";\n/**\n * It waits so\n * that others go first.\n */\n');
    const { status, stderr } = check();
    expect(status).toBe(1);
    expect(stderr).toContain('src/a.ts:3: "so that"');
    expect(stderr).not.toContain("made-up name");
  });

  it("lists at most five places per rule and area, and all with --all", () => {
    write("src/a.ts", "// Nobody asks.\n".repeat(7));
    const few = check();
    expect(few.stderr.match(/^src\/a\.ts:/gm)).toHaveLength(5);
    expect(few.stderr).toContain("... and 2 more; --all lists them.");
    expect(few.stdout).toBe("prose: 7 places.\n");
    expect(check("--all").stderr.match(/^src\/a\.ts:/gm)).toHaveLength(7);
  });

  it("passes for the project", () => {
    for (const path of ["src", "test", "docs", "proto", "scripts"])
      cpSync(path, join(folder, path), { recursive: true });
    for (const path of ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"])
      cpSync(path, join(folder, path));
    expect(check()).toMatchObject({ status: 0, stderr: "" });
  });
});
