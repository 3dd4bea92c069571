import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BROWSER_HEADERS, ORIGIN_HEADERS } from "../../src/api/browser/origin-headers.js";
import { hasDotSegment } from "../../src/proxy/dot-segments.js";

const guide = readFileSync("docs/proxies.md", "utf8");
const tableOf = (first: string) => guide.slice(guide.indexOf(`| ${first} |`)).split("\n\n", 1)[0] ?? "";
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

describe("the guide to proxies", () => {
  it("lists every header that is removed, and no other", () => {
    const rows = tableOf("Does not pass").split("\n").slice(2);
    const listed = rows.flatMap((row) => quoted(row.split("|")[1] ?? "")).map((name) => name.toLowerCase());
    const groups = [...ORIGIN_HEADERS, ...BROWSER_HEADERS];
    const inCode = groups.flatMap(({ names }) => names.split(/\s+/)).map((name) => name.replace(/(?<!-)\*$/, ""));
    const links = quoted(/`Link` with (.*?) \|/.exec(guide)?.[1] ?? "");
    const others = new Set([...links, "link", "-report-only"]);
    expect(listed.filter((name) => !others.has(name)).sort()).toEqual([...inCode].sort());
  });

  it("shows paths that are rejected and paths that pass", () => {
    const refused = tableOf("Spelling")
      .split("\n")
      .slice(2)
      .flatMap((row) => quoted(row.split("|")[2] ?? ""));
    expect(refused.length).toBeGreaterThan(15);
    for (const spelled of refused) expect([spelled, hasDotSegment(`/${spelled}/x`)]).toEqual([spelled, true]);
    const passing = quoted(/Everything else is forwarded unchanged: (.*?),\s+and/s.exec(guide)?.[1] ?? "");
    expect(passing.length).toBeGreaterThan(4);
    for (const spelled of passing) expect([spelled, hasDotSegment(`/${spelled}/x`)]).toEqual([spelled, false]);
  });

  it("links only to existing files", () => {
    for (const [, target = ""] of guide.matchAll(/\]\(([^)#]+)\)/g)) {
      expect(existsSync(join("docs", target)), target).toBe(true);
    }
  });
});
