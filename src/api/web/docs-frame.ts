import { readFile } from "node:fs/promises";
import { escaped } from "../../base/html.js";
import { packageFile } from "../../base/package-files.js";
import { HANGER, LOGO } from "./logo.js";

/** A page of docs/, as the build rendered it. */
export interface Guide {
  readonly path: string;
  readonly title: string;
  /** The heading under which the navigation lists it. */
  readonly group: string;
  readonly sections: readonly GuideSection[];
  /** HTML. */
  readonly body: string;
  readonly markdown: string;
}

interface GuideSection {
  readonly id: string;
  /** HTML without tags. */
  readonly title: string;
}

/** The common parts of all documentation pages. */
export interface Frame {
  /** In the order of the navigation. */
  readonly guides: readonly Guide[];
  readonly stylesPath: string;
}

export interface FramedPage {
  readonly title: string;
  /** The page's own path, to mark it in the navigation. */
  readonly current: string;
  /** HTML. */
  readonly head?: string;
  /** HTML. */
  readonly body: string;
  readonly sections?: readonly GuideSection[];
  /** Absent: as the browser prefers. */
  readonly theme?: "light";
}

const FOLDER = packageFile("dist/guides/");

/** Reads the guides rendered by `npm run build`. */
export async function readGuides(): Promise<readonly Guide[]> {
  const read = (name: string) => readFile(new URL(name, FOLDER), "utf8");
  const listed: readonly { name: string; title: string; group: string; sections: readonly GuideSection[] }[] =
    JSON.parse(await read("guides.json"));
  return Promise.all(
    listed.map(async ({ name, title, group, sections }) => ({
      path: `/docs/guides/${name}`,
      title,
      group,
      sections,
      body: await read(`${name}.html`),
      markdown: await read(`${name}.md`),
    })),
  );
}

/** The styles that all pages share, and those of the documentation. */
export function readDocsStyles(): Promise<string> {
  return readFile(new URL("docs.css", FOLDER), "utf8");
}

export function guideBody(guides: readonly Guide[], guide: Guide): string {
  const at = guides.indexOf(guide);
  const [before, after] = [guides[at - 1], guides[at + 1]];
  const links = [
    before && `<a href="${before.path}" rel="prev">← ${escaped(before.title)}</a>`,
    `<a href="${guide.path}.md">As Markdown</a>`,
    after && `<a href="${after.path}" rel="next">${escaped(after.title)} →</a>`,
  ];
  return `<main class="guide" id="content">${guide.body}
<nav class="around" aria-label="Neighbours">${links.filter(Boolean).join("\n")}</nav></main>`;
}

/** A whole page, headed by the product's name, beside the navigation by groups. */
export function renderPage({ guides, stylesPath }: Frame, page: FramedPage): string {
  const { title, current, head = "", body, sections = [], theme } = page;
  return `<!DOCTYPE html>
<html lang="en"${theme === undefined ? "" : ` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title === "Cloakroom API" ? title : `${title} - Cloakroom`)}</title>
<link rel="icon" href="${LOGO}">
${head}
<link rel="stylesheet" href="${stylesPath}">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header class="frame">
<a class="brand" href="/docs/guides/start"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="${HANGER}"/></svg>Cloakroom</a>
<nav aria-label="Site"><a href="/docs">API reference</a>
<a href="/openapi.json">openapi.json</a>
<a href="/console">Console</a></nav>
</header>
<div class="columns${sections.length > 0 ? " with-contents" : ""}">
<nav class="tree" aria-label="Documentation">${treeOf(guides, current)}</nav>
${body}
${contentsOf(sections)}
</div>
</body>
</html>
`;
}

function treeOf(guides: readonly Guide[], current: string): string {
  const groups = [...new Set(guides.map(({ group }) => group))];
  const lists = groups.map((name) => {
    const entries = guides.filter(({ group }) => group === name);
    const items = entries.map(({ path, title }) => {
      const mark = path === current ? ' aria-current="page"' : "";
      return `<li><a href="${path}"${mark}>${escaped(title)}</a></li>`;
    });
    return `<p>${escaped(name)}</p>\n<ul>${items.join("\n")}</ul>`;
  });
  return lists.join("\n");
}

function contentsOf(sections: readonly GuideSection[]): string {
  if (sections.length === 0) return "";
  const items = sections.map(({ id, title }) => `<li><a href="#${escaped(id)}">${title}</a></li>`);
  return `<nav class="contents" aria-label="On this page"><p>On this page</p>\n<ul>${items.join("\n")}</ul></nav>`;
}

/** What programs read first: every guide as Markdown, by groups. */
export function indexForPrograms(guides: readonly Guide[]): string {
  const groups = Map.groupBy(guides, ({ group }) => group);
  const lists = [...groups].map(
    ([name, entries]) => `## ${name}\n\n${entries.map(({ title, path }) => `- [${title}](${path}.md)`).join("\n")}\n`,
  );
  return `# Cloakroom\n\n> An open, self-hosted tokenization vault. Its API is described in /openapi.json.\n\n${lists.join("\n")}`;
}
