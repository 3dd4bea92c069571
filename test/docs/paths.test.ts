import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

/** Every document of the repository. */
const DOCUMENTS = globSync(["*.md", "docs/**/*.md", "src/*/README.md"]).sort();

/** Folders whose files documents name. A path is resolved from the root of the repository. */
const PATH = /(?<![\w./-])(?:src|test|scripts|docs|proto|gen|deploy|examples)\/[\w./-]*/g;

/** Anchors as GitHub and the served guides generate them. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => slugOf(heading.replaceAll("`", "")));
}

/** Relative links of a document, with their anchors. */
function linksOf(text: string): { readonly path: string; readonly place: string | undefined }[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = "", place] = target.split("#");
    return [{ path, place }];
  });
}

describe("documents", () => {
  it("are found", () => {
    expect(DOCUMENTS).toEqual(
      expect.arrayContaining(["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/decisions/README.md"]),
    );
  });

  it.each(DOCUMENTS)("%s names only existing paths", (document) => {
    const text = readFileSync(document, "utf8").replaceAll(/\]\([^)]*\)/g, "]");
    const paths = [...text.matchAll(PATH)].map(([path]) => path.replace(/[.-]+$/, ""));
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  it.each(DOCUMENTS)("%s links only to existing files and headings", (document) => {
    const broken = linksOf(readFileSync(document, "utf8")).filter(({ path, place }) => {
      const target = path === "" ? document : join(dirname(document), path);
      if (!existsSync(target)) return true;
      return place !== undefined && !headingsOf(readFileSync(target, "utf8")).includes(place);
    });
    expect(broken).toEqual([]);
  });
});

describe("the index of decisions", () => {
  const files = globSync("docs/decisions/[0-9]*.md").sort();
  const index = readFileSync("docs/decisions/README.md", "utf8");

  it("lists every record once, with its title", () => {
    const listed = [...index.matchAll(/\[(\d{4})\]\(([^)]+)\) \| ([^|]+) \|/g)].map(([, number, file, title = ""]) => ({
      ...{ number, file },
      title: title.trim(),
    }));
    const records = files.map((path) => {
      const [, number, title] = /^# (\d{4}) (.+)$/m.exec(readFileSync(path, "utf8")) ?? [];
      return { number, file: path.replace("docs/decisions/", ""), title };
    });
    expect(listed).toEqual(records);
  });

  it.each(files)("%s has a unique number, a date, a status and every section", (path) => {
    const text = readFileSync(path, "utf8");
    const number = /\/(\d{4})-/.exec(path)?.[1];
    expect(files.filter((file) => file.includes(`/${number}-`))).toEqual([path]);
    expect(text).toMatch(/^- Date: \d{4}-\d{2}-\d{2}$/m);
    expect(text).toMatch(/^- Status: (accepted|(partly )?superseded by \[\d{4}\]\(.+\)|proposed)$/m);
    expect(headingsOf(text).slice(1)).toEqual(["context", "decision", "consequences"]);
  });
});
