import { readFile } from "node:fs/promises";
import { escaped } from "../../base/html.js";
import { packageFile } from "../../base/package-files.js";
import { LOGO } from "./logo.js";

/** A page of docs/, as the build rendered it. */
export interface Guide {
  readonly path: string;
  readonly title: string;
  /** HTML. */
  readonly body: string;
}

/** The common parts of all documentation pages. */
export interface Frame {
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
}

/** Reads the guides rendered by `npm run build`. */
export async function readGuides(): Promise<readonly Guide[]> {
  const folder = packageFile("dist/guides/");
  const listed: readonly { name: string; title: string }[] = JSON.parse(
    await readFile(new URL("guides.json", folder), "utf8"),
  );
  return Promise.all(
    listed.map(async ({ name, title }) => ({
      path: `/docs/guides/${name}`,
      title,
      body: await readFile(new URL(`${name}.html`, folder), "utf8"),
    })),
  );
}

/** A whole page, headed by the product's name and the navigation. */
export function renderPage({ guides, stylesPath }: Frame, { title, current, head = "", body }: FramedPage): string {
  const entries = [...guides, { path: "/docs", title: "API reference" }];
  const navigation = entries.map(({ path, title: text }) => {
    const mark = path === current ? ' aria-current="page"' : "";
    return `<a href="${path}"${mark}>${escaped(text)}</a>`;
  });
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title === "Cloakroom API" ? title : `${title} - Cloakroom`)}</title>
<link rel="icon" href="${LOGO}">
${head}
<link rel="stylesheet" href="${stylesPath}">
</head>
<body>
<header class="frame">
<a class="brand" href="/docs">Cloakroom</a>
<nav aria-label="Documentation">${navigation.join("\n")}
<a href="/openapi.json">openapi.json</a></nav>
</header>
${body}
</body>
</html>
`;
}

/** Beside Swagger UI's own styles. */
export const FRAME_STYLES = `:root { --accent: #6b2fa6; --ink: #1c1823; --line: #e5e2eb; }
body { margin: 0; color: var(--ink); }
.frame { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: baseline; padding: .9rem 1.25rem; background: var(--accent); }
.frame a { color: #fff; font: 500 1rem/1.5 system-ui, sans-serif; text-decoration: none; }
.frame a:hover, .frame a:focus-visible, .frame [aria-current] { text-decoration: underline; text-underline-offset: .3em; }
.frame .brand { font-size: 1.25rem; font-weight: 700; letter-spacing: .01em; }
.frame nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
.swagger-ui .topbar { display: none; }
.guide { max-width: 52rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; font: 1rem/1.6 system-ui, sans-serif; }
.guide h1, .guide h2, .guide h3 { line-height: 1.25; margin: 2em 0 .6em; }
.guide a { color: var(--accent); }
.guide code { font: .875em/1.5 ui-monospace, monospace; background: #f4f3f9; padding: .1em .25em; border-radius: 3px; }
.guide pre { overflow-x: auto; padding: .9rem; background: #f4f3f9; border-radius: 6px; }
.guide pre code { padding: 0; background: none; }
.guide table { display: block; overflow-x: auto; border-collapse: collapse; }
.guide th, .guide td { padding: .35rem .6rem; border: 1px solid var(--line); text-align: left; vertical-align: top; }
`;
