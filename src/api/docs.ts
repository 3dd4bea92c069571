import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { FastifyInstance } from "fastify";
import { OWN_PAGE_HEADERS } from "./browser/answer-headers.js";

/** A file that the documentation consists of, in memory. */
interface DocsFile {
  readonly path: string;
  readonly type: string;
  readonly content: string | Buffer;
  readonly caching: string;
}

/** Asked for again at each look, so that a newer server shows its own documentation at once. */
const REVALIDATED = "no-cache";
/** The path names the content. */
const KEPT = "public, max-age=31536000, immutable";

/**
 * The page takes keys to try requests with: only our own scripts run in it, and it talks to this server alone. Workers
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

/** Without a validator, which Swagger UI would ask at its makers' server. */
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

/** Serves the API's description at /openapi.json and a page that shows it at /docs, to anybody, without a key. */
export async function registerDocs(app: FastifyInstance): Promise<void> {
  const [description, renderer, styles] = await Promise.all([
    readFile(new URL("../../gen/openapi.json", import.meta.url)),
    readSwaggerUi("swagger-ui-bundle.js"),
    readSwaggerUi("swagger-ui.css"),
  ]);
  const rendererPath = `/docs/${hashOf(renderer)}/swagger-ui.js`;
  const stylesPath = `/docs/${hashOf(styles)}/swagger-ui.css`;
  const files: readonly DocsFile[] = [
    { path: "/openapi.json", type: "application/json; charset=utf-8", content: description, caching: REVALIDATED },
    {
      path: "/docs",
      type: "text/html; charset=utf-8",
      content: pageOf(rendererPath, stylesPath),
      caching: REVALIDATED,
    },
    { path: "/docs/page.js", type: "text/javascript; charset=utf-8", content: SCRIPT, caching: REVALIDATED },
    { path: rendererPath, type: "text/javascript; charset=utf-8", content: renderer, caching: KEPT },
    { path: stylesPath, type: "text/css; charset=utf-8", content: styles, caching: KEPT },
  ];
  for (const file of files) serveFile(app, file);
}

function serveFile(app: FastifyInstance, { path, type, content, caching }: DocsFile): void {
  const etag = `"${hashOf(content)}"`;
  app.get(path, { config: { rateScope: "portal" } }, (request, reply) => {
    reply.headers({ ...HEADERS, etag, "cache-control": caching });
    if (request.headers["if-none-match"]?.includes(etag)) return reply.code(304).send();
    return reply.type(type).send(content);
  });
}

/**
 * The files of Swagger UI as the Fastify project packs them: the ones of its makers come with a package that reports
 * each installation.
 */
function readSwaggerUi(name: string): Promise<Buffer> {
  return readFile(createRequire(import.meta.url).resolve(`@fastify/swagger-ui/static/${name}`));
}

function pageOf(rendererPath: string, stylesPath: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cloakroom API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylesPath}">
</head>
<body>
<div id="docs"></div>
<script src="${rendererPath}"></script>
<script src="/docs/page.js"></script>
</body>
</html>
`;
}

function hashOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("base64url").slice(0, 22);
}
