import { escaped } from "../../base/html.js";
import { OWN_PAGE_HEADERS } from "../browser/security-headers.js";
import { WEB_PATH, type WebBuild } from "./web-build.js";

export interface WebPage {
  readonly title: string;
  readonly entry: string;
  readonly icon?: string;
  /** Data for the script, in `<meta name="cloakroom">` as JSON. Never a secret: anyone may load the page. */
  readonly data?: unknown;
}

/** The parts of a page's content security policy that differ between pages. Absent: `'none'`. */
export interface PagePolicy {
  readonly connect?: "'self'";
  readonly images?: "'self'" | "data:" | "'self' data:";
  readonly frameAncestors?: readonly string[];
}

/** The document: no inline script or style, nothing from another origin. */
export function renderDocument(build: WebBuild, { title, entry, icon, data }: WebPage): string {
  const { file, styles, imports, integrity } = build.entry(entry);
  const isModule = imports.length > 0 || entry.startsWith("console/");
  const kind = isModule ? 'type="module"' : "defer";
  const head = [
    ...(icon === undefined ? [] : [`<link rel="icon" href="${icon}">`]),
    ...(data === undefined ? [] : [`<meta name="cloakroom" content="${escaped(JSON.stringify(data))}">`]),
    ...styles.map((style) => `<link rel="stylesheet" href="${WEB_PATH}${style}">`),
    ...imports.map((script) => `<link rel="modulepreload" href="${WEB_PATH}${script}">`),
    ...(file.endsWith(".css")
      ? [`<link rel="stylesheet" href="${WEB_PATH}${file}">`]
      : [`<script ${kind} src="${WEB_PATH}${file}" integrity="${integrity}"></script>`]),
  ];
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
${head.join("\n")}
</head>
<body><noscript>${escaped(title)} needs JavaScript. Allow it for this address, and reload the page.</noscript></body>
</html>
`;
}

/** Headers of a page that {@link renderDocument} writes. Trusted Types leave its script no way to parse text as HTML. */
export function pageHeaders({ connect, images, frameAncestors = [] }: PagePolicy): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'none'",
    "style-src 'self'",
    `connect-src ${connect ?? "'none'"}`,
    `img-src ${images ?? "'none'"}`,
    "font-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
    `frame-ancestors ${frameAncestors.length > 0 ? frameAncestors.join(" ") : "'none'"}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    ...OWN_PAGE_HEADERS,
    "content-security-policy": policy.join("; "),
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
  };
}
