import { HANGER, LOGO } from "../../src/api/web/logo.js";
import { escaped } from "../../src/base/html.js";

/** The parts that all pages share. */
export interface Site {
  readonly styles: string;
  readonly script: string;
  /** The index that the search of the pages reads. */
  readonly searchIndex: string;
  readonly guides: readonly Link[];
  readonly resources: readonly Link[];
}

/** An entry of a navigation. */
export interface Link {
  readonly path: string;
  readonly title: string;
  readonly group: string;
}

export interface Page {
  readonly title: string;
  /** The page's own path, to mark it in the navigation. */
  readonly path: string;
  /** HTML. */
  readonly body: string;
  /** Listed beside the text of a guide, and below a resource of the reference. Titles are HTML. */
  readonly sections?: readonly { readonly id: string; readonly title: string }[];
  readonly tree?: "guides" | "reference";
}

/** A whole page, headed by the product's name, beside the navigation by groups. It is complete without its script. */
export function renderPage(site: Site, page: Page): string {
  const { title, path, body, sections = [], tree } = page;
  const links = tree === "reference" ? site.resources : site.guides;
  const columns = tree === undefined ? "columns front" : `columns ${tree === "reference" ? "reference" : "reading"}`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} - Cloakroom</title>
<link rel="icon" href="${LOGO}">
<link rel="stylesheet" href="${site.styles}">
<script src="${site.script}" type="module" data-search-index="${site.searchIndex}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header class="frame">
<a class="brand" href="/docs"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="${HANGER}"/></svg>Cloakroom</a>
<nav aria-label="Site"><a href="/docs/guides/start"${path.startsWith("/docs/guides/") ? ' aria-current="true"' : ""}>Guides</a>
<a href="/docs/api"${tree === "reference" ? ' aria-current="true"' : ""}>API</a>
<a href="/console">Console</a></nav>
<button class="find" type="button" hidden>Search <kbd>Ctrl K</kbd></button>
</header>
<div class="${columns}">
${tree === undefined ? "" : `<nav class="tree" aria-label="Documentation">${treeList(links, page)}</nav>`}
${body}
${tree === "guides" ? contents(sections) : ""}
</div>
</body>
</html>
`;
}

function treeList(links: readonly Link[], page: Page): string {
  const lists = [...Map.groupBy(links, ({ group }) => group)].map(([name, entries]) => {
    const items = entries.map(({ path, title }) => {
      if (path !== page.path) return `<li><a href="${path}">${escaped(title)}</a></li>`;
      const inner = page.tree === "reference" ? sectionList(page.sections ?? []) : "";
      return `<li><a href="${path}" aria-current="page">${escaped(title)}</a>${inner}</li>`;
    });
    return `<p>${escaped(name)}</p>\n<ul>${items.join("\n")}</ul>`;
  });
  return lists.join("\n");
}

function contents(sections: NonNullable<Page["sections"]>): string {
  if (sections.length === 0) return "";
  return `<nav class="contents" aria-label="On this page"><p>On this page</p>\n${sectionList(sections)}</nav>`;
}

function sectionList(sections: NonNullable<Page["sections"]>): string {
  if (sections.length === 0) return "";
  const items = sections.map(({ id, title }) => `<li><a href="#${escaped(id)}">${title}</a></li>`);
  return `<ul class="sections">${items.join("\n")}</ul>`;
}
