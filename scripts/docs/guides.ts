import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type RenderedGuide, renderGuide } from "./markdown.js";

/** A page of docs/, rendered. */
export interface Guide extends RenderedGuide {
  /** The last part of its address. */
  readonly name: string;
  readonly path: string;
  readonly title: string;
  /** The heading under which the navigation lists it. */
  readonly group: string;
  /** One sentence for the front page and search. */
  readonly summary: string;
  readonly markdown: string;
}

/** An entry of docs/tree.json: a heading of the navigation, and its guides in order with a sentence each. */
interface Group {
  readonly group: string;
  readonly guides: Readonly<Record<string, string>>;
}

/** Pages for people who work on the project. */
const INTERNAL: ReadonlySet<string> = new Set(["performance", "testing", "walks", "where-to-find-it"]);

/** Guides that are not in docs/. */
const ELSEWHERE: Readonly<Record<string, string>> = { start: "README.md", client: "clients/typescript/README.md" };

/** @throws {Error} if docs/tree.json does not name exactly the files of docs/. */
export function readGuides(): readonly Guide[] {
  const files = guideFiles();
  const tree: readonly Group[] = JSON.parse(readFileSync("docs/tree.json", "utf8"));
  const listed = tree.flatMap(({ group, guides }) =>
    Object.entries(guides).map(([name, summary]) => ({ group, name, summary })),
  );
  const names = listed.map(({ name }) => name);
  const misplaced = [
    ...names.filter((name) => !files.has(name)),
    ...[...files.keys()].filter((name) => !names.includes(name)),
  ];
  if (misplaced.length > 0) throw new Error(`docs/tree.json and docs/ differ in: ${misplaced.join(", ")}`);
  const sources = listed.map(({ group, name, summary }) => {
    const file = files.get(name) ?? "";
    const markdown = readFileSync(file, "utf8");
    const title = name === "start" ? "Start" : (/^# (.+)$/m.exec(markdown)?.[1] ?? name);
    return { group, name, summary, file, markdown, title, path: `/docs/guides/${name}` };
  });
  return sources.map(({ file, ...source }) => {
    const linked = (href: string) => sources.find((guide) => guide.file === join(dirname(file), href));
    return { ...source, ...renderGuide(source, linked) };
  });
}

function guideFiles(): ReadonlyMap<string, string> {
  const names = readdirSync("docs")
    .filter((file) => file.endsWith(".md"))
    .map((file) => basename(file, ".md"))
    .filter((name) => !INTERNAL.has(name));
  return new Map([...Object.entries(ELSEWHERE), ...names.map((name) => [name, join("docs", `${name}.md`)] as const)]);
}
