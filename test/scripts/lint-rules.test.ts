import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lint-"));
  const { plugins } = JSON.parse(readFileSync("biome.json", "utf8"));
  writeFileSync(join(folder, "biome.json"), JSON.stringify({ plugins }));
  cpSync("scripts/lint", join(folder, "scripts/lint"), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

function lint(path: string, code: string) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), `${code}\n`);
  const { status, stderr } = spawnSync(resolve("node_modules/.bin/biome"), ["lint", path], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, problems: stderr.match(/URL\.parse and URL\.canParse are missing in Chrome 116/g)?.length ?? 0 };
}

describe("the rule on URL.parse and URL.canParse", () => {
  it.each(["src/web/console/planted.tsx", "src/web/elements/planted.ts", "clients/elements/src/planted.ts"])(
    "rejects them in %s, which browsers run",
    (path) => {
      for (const call of [
        "URL.parse(text)",
        "URL.canParse(text)",
        "globalThis.URL.parse(text)",
        "list.map(URL.parse)",
      ]) {
        expect([call, lint(path, `export const planted = ${call};`)]).toEqual([call, { status: 1, problems: 1 }]);
      }
      expect(lint(path, "export const planted = new URL(text);")).toEqual({ status: 0, problems: 0 });
    },
  );

  it("accepts them on the server", () => {
    expect(lint("src/api/planted.ts", "export const planted = URL.canParse(text);")).toEqual({
      status: 0,
      problems: 0,
    });
  });
});
