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

const MESSAGES = /URL\.parse and URL\.canParse are missing in Chrome 116|A test asserts no elapsed time/g;

function lint(path: string, code: string) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), `${code}\n`);
  const { status, stderr } = spawnSync(resolve("node_modules/.bin/biome"), ["lint", path], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, problems: stderr.match(MESSAGES)?.length ?? 0 };
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

describe("the rule on elapsed time", () => {
  const REFUSED = [
    "console.log(performance.now());",
    "expect(performance.now() - mark).toBeLessThan(5_000);",
    "console.log(process.hrtime());",
    "console.log(process.hrtime.bigint());",
    "expect(Math.abs(Date.parse(text) - Date.now())).toBeLessThan(60_000);",
    "expect(Date.now() - mark).toBeLessThan(60_000);",
    "console.log(Date.now() - startedAt);",
    "await new Promise((resolve) => setTimeout(resolve, Date.parse(text) - Date.now() + 50));",
    "await expect.poll(look, { timeout: 5_000, interval: 1 }).toBe(1);",
    "await vi.waitFor(look, 10_000);",
    "await vi.waitFor(look, { timeout: 10_000 });",
  ];
  const ACCEPTED = [
    "console.log(Date.now() - 30 * day);",
    "expect(moment).toBeLessThanOrEqual(Date.now());",
    "expect(code('performance.now()')).toBe(1);",
    "await expect.poll(look, { interval: 1 }).toBe(1);",
    "await vi.waitFor(look, { interval: 10 });",
    "await sql.end({ timeout: 5 });",
  ];

  it("rejects each form of it in a test", () => {
    for (const line of REFUSED)
      expect([line, lint("test/planted.test.ts", line)]).toEqual([line, { status: 1, problems: 1 }]);
  });

  it("accepts moments, and waits that the test alone bounds", () => {
    expect(lint("test/planted.test.ts", ACCEPTED.join("\n"))).toEqual({ status: 0, problems: 0 });
  });

  it("accepts it in the bench, and in the product", () => {
    for (const path of ["test/bench/planted.ts", "src/api/planted.ts"]) {
      expect([path, lint(path, "console.log(performance.now());").problems]).toEqual([path, 0]);
    }
  });
});
