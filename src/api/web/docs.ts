import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandler } from "fastify";
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
  const names = (await readdir(FOLDER, { recursive: true })).filter((name) => extname(name) in TYPES);
  const files = new Map(names.map((name) => [pathOf(name), lazily(() => readDocument(name))]));
  const protos = async () => ({ type: "application/gzip", content: await readFile(packageFile("dist/protos.tar.gz")) });
  files.set(
    "/protos.tar.gz",
    lazily(async () => document(await protos(), "no-cache")),
  );
  const serve: RouteHandler = async (request, reply) => {
    const read = files.get(request.url.replace(/\/?(?:\?.*)?$/s, ""));
    return read ? sendDocument(request, reply, await read()) : reply.callNotFound();
  };
  // One route for the tree: one for each page took a tenth of a start's processor time.
  const outside = [...files.keys()].filter((path) => !path.startsWith("/docs"));
  for (const path of [...outside, "/docs", "/docs/*"]) app.get(path, { config: { rateScope: "portal" } }, serve);
  app.get("/", { config: { rateScope: "portal" } }, (request, reply) => {
    // Programs that call the base URL by mistake get the problem details of an unknown path.
    if (!/\btext\/html\b/.test(request.headers.accept ?? "")) return reply.callNotFound();
    return reply.headers(HEADERS).redirect("/docs", 302);
  });
}

interface Document {
  readonly file: WebFile;
  readonly etag: string;
  readonly caching: string;
}

function pathOf(name: string): string {
  return `/${name.replace(/\/index\.html$/, "")}`;
}

async function readDocument(name: string): Promise<Document> {
  const read = (ending: string) => readFile(new URL(`${name}${ending}`, FOLDER));
  const [content, gzip] = await Promise.all([read(""), read(".gz")]);
  // The others are revalidated at every view, to show the documentation of a newer server at once.
  const caching = name.startsWith(ASSETS) ? IMMUTABLE : "no-cache";
  return document({ type: TYPES[extname(name)] ?? "", content, gzip }, caching);
}

function document(file: WebFile, caching: string): Document {
  const etag = `"${createHash("sha256").update(file.content).digest("base64url").slice(0, 22)}"`;
  return { file, etag, caching };
}

/** Reads at the first request, and again if that failed. */
function lazily<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => {
    reading ??= read().catch((error: unknown) => {
      reading = undefined;
      throw error;
    });
    return reading;
  };
}

function sendDocument(request: FastifyRequest, reply: FastifyReply, { file, etag, caching }: Document): unknown {
  reply.headers({ ...HEADERS, etag, "cache-control": caching });
  if (request.headers["if-none-match"]?.includes(etag)) return reply.code(304).send();
  return sendFile(request, reply, file);
}
