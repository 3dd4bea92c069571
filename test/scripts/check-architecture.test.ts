import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { DOCUMENT, parseMap, SECRETS_DOCUMENT } from "../../scripts/architecture/map.js";
import { architectureProblems } from "../../scripts/architecture/rules.js";
import { parseSourceFile, readSourceFiles } from "../../scripts/architecture/source-files.js";
import { withCompileCache } from "../support/compile-cache.js";

/** Parsed once: that takes two seconds of processor time, and each case changes one file or two. */
const sources = readSourceFiles(".");
/** The texts that a case puts in place of the project's. */
const planted = new Map<string, string>();
beforeEach(() => planted.clear());

/** What the check finds in the project with the planted texts. */
function check(): readonly string[] {
  const paths = new Set([...sources.map(({ path }) => path), ...planted.keys()]);
  const changed = [...planted].filter(([path]) => path !== DOCUMENT && path !== SECRETS_DOCUMENT);
  const files = [
    ...sources.filter(({ path }) => !planted.has(path)),
    ...changed.map(([path, text]) => parseSourceFile(path, text, paths)),
  ];
  return architectureProblems(files, parseMap(textOf(DOCUMENT), textOf(SECRETS_DOCUMENT)));
}

function textOf(path: string): string {
  return planted.get(path) ?? readFileSync(path, "utf8");
}

function append(path: string, line: string): void {
  planted.set(path, `${textOf(path)}${line}\n`);
}

function write(path: string, text: string): void {
  planted.set(path, text);
}

function editMap(before: string, after: string, document = DOCUMENT): void {
  const text = textOf(document);
  expect(text).toContain(before);
  planted.set(document, text.replace(before, after));
}

/** Runs the command as `npm run check` does, on a folder with these files. */
function command(texts: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), "architecture-"));
  try {
    for (const [path, text] of Object.entries(texts)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return run(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

function run(...args: readonly string[]) {
  const script = ["--import=./scripts/typescript-sources.js", "scripts/check-architecture.ts", ...args];
  const { status, stderr } = spawnSync(process.execPath, script, {
    encoding: "utf8",
    env: { ...process.env, ...withCompileCache() },
  });
  return { status, problems: stderr.split("\n").slice(0, -1) };
}

/** A function with this many lines. */
function functionOf(lines: number): string {
  return `export function planted() {\n${"  planted();\n".repeat(lines - 2)}}\n`;
}

describe("the architecture check", () => {
  it("accepts the project's sources", () => {
    expect(run()).toEqual({ status: 0, problems: [] });
  });

  it("ends the command with an exit code of 1 and a line for each problem", () => {
    const { status, problems } = command({
      "src/planted.ts": "export {};\n",
      [DOCUMENT]: textOf(DOCUMENT),
      [SECRETS_DOCUMENT]: textOf(SECRETS_DOCUMENT),
    });
    expect(status).toBe(1);
    expect(problems).toContain("src/planted.ts lies in no folder");
    expect(problems).toContain("docs/architecture.md lists src/base/, which does not exist");
  });

  it.each([
    ["an import", 'import { readMail } from "../services/members.js";'],
    ["an import of a type", 'import type { Member } from "../services/members.js";'],
    ["an import for its effect", 'import "../services/members.js";'],
    ["an export", 'export * from "../services/members.js";'],
    ["a dynamic import", 'export const planted = () => import("../services/members.js");'],
    ["an import type", 'export type Planted = import("../services/members.js").Member;'],
  ])("rejects %s upwards", (_, line) => {
    append("src/store/database.ts", line);
    expect(check()).toContainEqual(
      expect.stringMatching(
        /^src\/store\/database\.ts:\d+ imports src\/services\/members\.ts: store may not import services$/,
      ),
    );
  });

  it("rejects generated code below the services", () => {
    append("src/tokens/token.ts", 'import "../../gen/cloakroom/v1/tokens_pb.js";');
    expect(check()).toContainEqual(expect.stringContaining("which src/tokens/ may not import"));
  });

  it("keeps internal folders private", () => {
    append("src/tokens/token.ts", 'import "../store/wire/connection.js";');
    expect(check()).toContainEqual(
      expect.stringContaining("imports src/store/wire/connection.ts, which is private to src/store/"),
    );
  });

  it("finds cycles of files, also through types", () => {
    write("src/base/one.ts", 'import type { Other } from "./other.js";\nexport type One = Other;\n');
    write("src/base/other.ts", 'import type { One } from "./one.js";\nexport type Other = One | undefined;\n');
    expect(check()).toEqual(["files import each other in a circle: src/base/one.ts, src/base/other.ts"]);
  });

  it("finds cycles of sub-folders", () => {
    write("src/base/a/one.ts", 'import "../b/two.js";\n');
    write("src/base/b/two.ts", "export {};\n");
    write("src/base/b/three.ts", 'import "../a/four.js";\n');
    write("src/base/a/four.ts", "export {};\n");
    expect(check()).toEqual(["folders import each other in a circle: src/base/a, src/base/b"]);
  });

  it("rejects a row that allows an import upwards", () => {
    editMap("| the expression language. Pure | `base` |", "| the expression language. Pure | `base`, `tokens` |");
    expect(check()).toEqual([
      "docs/architecture.md: the row of expressions allows tokens, which is no folder in a row below it",
    ]);
  });

  it("requires a row for each folder, and a folder for each row", () => {
    write("src/planted/planted.ts", "export {};\n");
    write("src/planted.ts", "export {};\n");
    editMap("| 1 | `src/base/` |", "| 2 | `src/gone/` | | |\n| 1 | `src/base/` |");
    expect(check()).toEqual([
      "src/planted.ts lies in no folder",
      "src/planted/ has no row in docs/architecture.md",
      "docs/architecture.md lists src/gone/, which does not exist",
    ]);
  });

  it.each([
    ["a call", "export const planted = (secret: { reveal(): string }) => secret.reveal();"],
    ["an optional call", "export const planted = (secret?: { reveal(): string }) => secret?.reveal();"],
    ["a computed name", 'export const planted = (secret: { reveal(): string }) => secret["reveal"]();'],
    ["a destructured method", "export const planted = ({ reveal }: { reveal(): string }) => reveal();"],
  ])("rejects a secret that an unlisted file opens with %s", (_, line) => {
    append("src/audit/actor.ts", line);
    expect(check()).toEqual([expect.stringMatching(/^src\/audit\/actor\.ts:\d+ opens a Sensitive value: /)]);
  });

  it("rejects a list that lets a file open secrets without need", () => {
    editMap("| `src/settings/addresses.ts`,", "| `src/settings/addresses.ts`, `src/audit/actor.ts`,", SECRETS_DOCUMENT);
    expect(check()).toEqual(["docs/running-parts.md lets src/audit/actor.ts open secrets, which it does not"]);
  });

  it("rejects functions above 60 lines", () => {
    write("src/base/planted.ts", functionOf(60));
    expect(check()).toEqual([]);
    write("src/base/planted.ts", functionOf(61));
    expect(check()).toEqual(["src/base/planted.ts:1 has a function of 61 lines; 60 are allowed"]);
  });
});
