import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { FastifyInstance } from "fastify";
import { packageFile } from "../../base/package-files.js";
import { OWN_PAGE_HEADERS } from "../browser/security-headers.js";
import { IMMUTABLE, sendFile } from "./send-file.js";
import type { WebFile } from "./web-build.js";

/** What `npm run build` made of docs/ and gen/openapi.json: a tree whose paths are addresses. */
const FOLDER = packageFile("dist/docs/");

/** The folder of files whose names have a hash of their content. */
const ASSETS = "docs/assets/";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** The pages load their styles, script and search index from here, and nothing else. Their icon is a data URL. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // Workers would be allowed wherever scripts are (CSP 3, 6.1.17).
  "worker-src 'none'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = { ...OWN_PAGE_HEADERS, "content-security-policy": CONTENT_SECURITY_POLICY };

/** Serves the documentation below /docs, the API's description at /openapi.json and the protos, without a key. */
export async function registerDocs(app: FastifyInstance): Promise<void> {
  const names = await readdir(FOLDER, { recursive: true });
  await Promise.all(names.filter((name) => extname(name) in TYPES).map((name) => serveFile(app, name)));
  const protos = await readFile(packageFile("dist/protos.tar.gz"));
  serve(app, "/protos.tar.gz", { type: "application/gzip", content: protos }, "no-cache");
  app.get("/", { config: { rateScope: "portal" } }, (request, reply) => {
    // Programs that call the base URL by mistake get the problem details of an unknown path.
    if (!/\btext\/html\b/.test(request.headers.accept ?? "")) return reply.callNotFound();
    return reply.headers(HEADERS).redirect("/docs", 302);
  });
}

async function serveFile(app: FastifyInstance, name: string): Promise<void> {
  const read = (ending: string) => readFile(new URL(`${name}${ending}`, FOLDER));
  const [content, gzip] = await Promise.all([read(""), read(".gz")]);
  const path = `/${name.replace(/\/index\.html$/, "")}`;
  // The others are revalidated at every view, to show the documentation of a newer server at once.
  const caching = name.startsWith(ASSETS) ? IMMUTABLE : "no-cache";
  serve(app, path, { type: TYPES[extname(name)] ?? "", content, gzip }, caching);
}

function serve(app: FastifyInstance, path: string, file: WebFile, caching: string): void {
  const etag = `"${createHash("sha256").update(file.content).digest("base64url").slice(0, 22)}"`;
  app.get(path, { config: { rateScope: "portal" } }, (request, reply) => {
    reply.headers({ ...HEADERS, etag, "cache-control": caching });
    if (request.headers["if-none-match"]?.includes(etag)) return reply.code(304).send();
    return sendFile(request, reply, file);
  });
}
