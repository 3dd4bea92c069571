import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const MAP = readFileSync("docs/architecture.md", "utf8");
const ROWS = [...MAP.matchAll(/^\| \d \| `(src\/[a-z-]+)\/` \| .* \| (.*) \|$/gm)].map(
  ([, folder = "", mayImport = ""]) => [folder, mayImport] as const,
);

describe("the map", () => {
  it("has a front page of at most 100 lines", () => {
    expect(MAP.split("\n").length).toBeLessThanOrEqual(101);
    expect(ROWS.length).toBe(globSync("src/*/").length);
  });
});

describe.each(ROWS)("%s/README.md", (folder, mayImport) => {
  const text = existsSync(`${folder}/README.md`) ? readFileSync(`${folder}/README.md`, "utf8") : "";

  it("allows the imports of the map", () => {
    const [, stated = ""] = /^May import: (.*?)\.$/ms.exec(text) ?? [];
    expect(stated.replaceAll(/\s+/g, " ")).toBe(mayImport);
  });

  it("says where to begin, by files that exist", () => {
    expect(text).toContain("Begin at ");
    const files = [...text.matchAll(/`([\w/-]+\.tsx?)`/g)].map(([, path = ""]) => path);
    expect(files.length).toBeGreaterThan(0);
    const missing = files.filter((path) => !existsSync(path) && !existsSync(join(folder, path)));
    expect(missing).toEqual([]);
  });
});
