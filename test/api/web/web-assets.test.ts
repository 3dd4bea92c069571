import { readFileSync } from "node:fs";
import { request } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, inject, it } from "vitest";
import { pageHeaders, renderDocument } from "../../../src/api/web/web-page.js";

const url = inject("serverUrl");
const manifest = JSON.parse(readFileSync("dist/web/manifest.json", "utf8"));
const { file } = manifest["elements/notice"];

/** Without fetch(), which decompresses by itself. */
function get(path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      request(`${url}${path}`, { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      })
        .on("error", reject)
        .end();
    },
  );
}

describe("a file for browsers", () => {
  it("is kept forever, has a fixed type, and no other origin may load it", async () => {
    const { status, headers } = await get(`/web/${file}`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "text/css; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      vary: "Accept-Encoding",
    });
  });

  it.each([
    ["gzip, deflate, br, zstd", "br"],
    ["gzip, deflate", "gzip"],
    ["br;q=0, gzip;q=0.5", "gzip"],
    ["identity", undefined],
  ])("is sent compressed if the browser accepts %s", async (accepted, encoding) => {
    const plain = readFileSync(`dist/web/${file}`);
    const { headers, body } = await get(`/web/${file}`, { "Accept-Encoding": accepted });
    expect(headers["content-encoding"]).toBe(encoding);
    const content = encoding === "br" ? brotliDecompressSync(body) : encoding === "gzip" ? gunzipSync(body) : body;
    expect(content.equals(plain)).toBe(true);
  });

  it("exists under its hashed name only", async () => {
    for (const path of ["/web/manifest.json", "/web/meta.json", "/web/elements/../manifest.json", `/web/${file}.br`]) {
      expect((await get(path)).status).toBe(404);
    }
  });
});

describe("a page", () => {
  const build = {
    files: new Map(),
    entry: () => ({
      file: "console/main-1.js",
      styles: ["console/main-2.css"],
      imports: ["console/chunk-3.js"],
      integrity: "sha384-x",
    }),
  };

  it("loads its bundle, with its data as text", () => {
    const page = renderDocument(build, { title: "<b>", entry: "console/main", data: { text: '"><script>' } });
    expect(page).toContain("<title>&#60;b&#62;</title>");
    expect(page).toContain('<script type="module" src="/web/console/main-1.js" integrity="sha384-x"></script>');
    expect(page).toContain('<link rel="modulepreload" href="/web/console/chunk-3.js">');
    expect(page).toContain('<link rel="stylesheet" href="/web/console/main-2.css">');
    expect(page.match(/<script/g)).toHaveLength(1);
  });

  it("may do only what its policy names", () => {
    const headers = pageHeaders({ connect: "'self'", frameAncestors: ["https://shop.example"] });
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'self'; worker-src 'none'; style-src 'self'; connect-src 'self'; img-src 'none'; " +
        "font-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors https://shop.example; " +
        "require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(pageHeaders({})["content-security-policy"]).toContain("frame-ancestors 'none'");
  });
});
