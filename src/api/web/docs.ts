import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import { packageFile } from "../../base/package-files.js";
import { OWN_PAGE_HEADERS } from "../browser/security-headers.js";
import { type Frame, guideBody, indexForPrograms, readDocsStyles, readGuides, renderPage } from "./docs-frame.js";

/** A file of the documentation, in memory. */
interface DocsFile {
  readonly path: string;
  readonly type: string;
  readonly content: string | Buffer;
  readonly caching: string;
}

const HTML = "text/html; charset=utf-8";
const MARKDOWN = "text/markdown; charset=utf-8";
const TEXT = "text/plain; charset=utf-8";

/** Revalidated on every view, to show the documentation of a newer server at once. */
const REVALIDATED = "no-cache";
/** Cacheable forever, because the path contains a hash of the content. */
const KEPT = "public, max-age=31536000, immutable";

/**
 * The page accepts keys for trying requests: only our own scripts run in it, and it talks to this server alone. Workers
 * would be allowed wherever scripts are (CSP 3, 6.1.17). Swagger UI draws its icons from data URLs.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = { ...OWN_PAGE_HEADERS, "content-security-policy": CONTENT_SECURITY_POLICY };

/** Without the validator badge, which Swagger UI would load from its makers' server. */
const SCRIPT = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  showExtensions: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

/** Serves the API's description at /openapi.json, a page that shows it at /docs, and the guides, without a key. */
export async function registerDocs(app: FastifyInstance): Promise<void> {
  const [description, renderer, styles, guides, frameStyles] = await Promise.all([
    readFile(packageFile("dist/gen/openapi.json")),
    readSwaggerUi("swagger-ui-bundle.js"),
    readSwaggerUi("swagger-ui.css"),
    readGuides(),
    readDocsStyles(),
  ]);
  const rendererPath = `/docs/${contentHash(renderer)}/swagger-ui.js`;
  const stylesPath = `/docs/${contentHash(styles)}/swagger-ui.css`;
  const frameStylesPath = `/docs/${contentHash(frameStyles)}/docs.css`;
  const frame = { guides, stylesPath: frameStylesPath };
  const reference = renderPage(frame, {
    title: "Cloakroom API",
    current: "/docs",
    head: `<link rel="stylesheet" href="${stylesPath}">`,
    theme: "light",
    body: `<main id="content" class="reference"><div id="docs"></div></main>
<script src="${rendererPath}"></script>
<script src="/docs/page.js"></script>`,
  });
  const script = "text/javascript; charset=utf-8";
  const css = "text/css; charset=utf-8";
  const files: readonly DocsFile[] = [
    { path: "/openapi.json", type: "application/json; charset=utf-8", content: description, caching: REVALIDATED },
    { path: "/docs", type: HTML, content: reference, caching: REVALIDATED },
    ...guideFiles(frame),
    { path: "/docs/page.js", type: script, content: SCRIPT, caching: REVALIDATED },
    { path: rendererPath, type: script, content: renderer, caching: KEPT },
    { path: stylesPath, type: css, content: styles, caching: KEPT },
    { path: frameStylesPath, type: css, content: frameStyles, caching: KEPT },
  ];
  for (const file of files) serveFile(app, file);
  const protos = {
    path: "/protos.tar.gz",
    type: "application/gzip",
    content: await readFile(packageFile("dist/protos.tar.gz")),
  };
  serveFile(app, { ...protos, caching: REVALIDATED });
  app.get("/", { config: { rateScope: "portal" } }, (request, reply) => {
    // Programs that call the base URL by mistake get the problem details of an unknown path.
    if (!/\btext\/html\b/.test(request.headers.accept ?? "")) return reply.callNotFound();
    return reply.headers(HEADERS).redirect("/docs", 302);
  });
}

/** Each guide as a page and as Markdown, and what programs read: a list of them, and all in one. */
function guideFiles(frame: Frame): DocsFile[] {
  const { guides } = frame;
  const caching = REVALIDATED;
  const index = indexForPrograms(guides);
  const whole = guides.map(({ markdown }) => markdown).join("\n");
  return [
    ...guides.flatMap((guide): DocsFile[] => {
      const { path, markdown } = guide;
      const content = renderPage(frame, { ...guide, current: path, body: guideBody(guides, guide) });
      return [
        { path, type: HTML, content, caching },
        { path: `${path}.md`, type: MARKDOWN, content: markdown, caching },
      ];
    }),
    { path: "/llms.txt", type: TEXT, content: index, caching },
    { path: "/llms-full.txt", type: TEXT, content: whole, caching },
  ];
}

function serveFile(app: FastifyInstance, { path, type, content, caching }: DocsFile): void {
  const etag = `"${contentHash(content)}"`;
  app.get(path, { config: { rateScope: "portal" } }, (request, reply) => {
    reply.headers({ ...HEADERS, etag, "cache-control": caching });
    if (request.headers["if-none-match"]?.includes(etag)) return reply.code(304).send();
    return reply.type(type).send(content);
  });
}

/** The build copies these files of Swagger UI. */
function readSwaggerUi(name: string): Promise<Buffer> {
  return readFile(packageFile(`dist/swagger-ui/${name}`));
}

function contentHash(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("base64url").slice(0, 22);
}
