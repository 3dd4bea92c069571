// Builds dist/docs: the documentation as a tree of files that any web server can show at its root. The vault serves the
// same files. A page at /docs/guides/start is docs/guides/start/index.html.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { escaped } from "../../src/base/html.js";
import { BROWSERS } from "../browsers.js";
import { renderPage, type Site } from "./frame.js";
import { frontBody } from "./front-page.js";
import { guideBody, programIndex } from "./guide-page.js";
import { type Guide, readGuides } from "./guides.js";
import { referenceBody } from "./reference/front-page.js";
import { type Resource, readDescription, readResources } from "./reference/operations.js";
import { resourceBody } from "./reference/page.js";
import { searchIndex } from "./search-index.js";

const TARGET = "dist/docs";

function write(path: string, content: string | Uint8Array): void {
  const file = join(TARGET, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  // Brotli at its best takes seconds for all pages, and saves a tenth of them.
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}

/** Writes a file whose name has a hash of its content. Returns its address. */
function writeAsset(name: string, ending: string, content: string | Uint8Array): string {
  const hash = createHash("sha256").update(content).digest("base64url").slice(0, 16);
  const path = `/docs/assets/${name}-${hash}.${ending}`;
  write(path, content);
  return path;
}

async function bundledScript(): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: ["src/web/docs/main.ts"],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: BROWSERS,
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

function styles(): string {
  const own = ["docs", "code", "search", "front-page", "reference"].map((name) => `docs/${name}.css`);
  return ["styles/colours.css", "styles/page.css", ...own]
    .map((file) => readFileSync(join("src/web", file), "utf8"))
    .join("");
}

function writeGuides(site: Site, guides: readonly Guide[]): void {
  for (const guide of guides) {
    const { path, title, sections } = guide;
    write(
      `${path}/index.html`,
      renderPage(site, { title, path, sections, body: guideBody(guides, guide), tree: "guides" }),
    );
    write(`${path}.md`, guide.markdown);
  }
  write("llms.txt", programIndex(guides));
  write("llms-full.txt", guides.map(({ markdown }) => markdown).join("\n"));
}

function writeReference(site: Site, resources: readonly Resource[]): void {
  const { schemas } = description.components;
  const pages = [
    { title: "API reference", path: "/docs/api", body: referenceBody(resources) },
    ...resources.map((resource) => ({
      title: resource.name,
      path: resource.path,
      body: resourceBody(resource, schemas),
      sections: resource.operations.map(({ id, title }) => ({ id, title: escaped(title) })),
    })),
  ];
  for (const page of pages) write(`${page.path}/index.html`, renderPage(site, { ...page, tree: "reference" }));
}

rmSync(TARGET, { recursive: true, force: true });
const description = readDescription();
const guides = readGuides();
const resources = await readResources(description);
const site: Site = {
  styles: writeAsset("docs", "css", styles()),
  script: writeAsset("docs", "js", await bundledScript()),
  searchIndex: writeAsset("search", "json", searchIndex(guides, resources)),
  guides,
  resources: [
    { path: "/docs/api", title: "All operations", group: "API reference" },
    ...resources.map(({ path, name }) => ({ path, title: name, group: "Resources" })),
  ],
};
write(
  "docs/index.html",
  renderPage(site, { title: "Documentation", path: "/docs", body: frontBody(guides, resources) }),
);
writeGuides(site, guides);
writeReference(site, resources);
write("openapi.json", readFileSync("gen/openapi.json"));
