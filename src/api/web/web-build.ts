import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../../base/package-files.js";

/** A bundle for browsers, as `scripts/build-web.ts` names it. Paths are relative to dist/web. */
export interface WebEntry {
  readonly file: string;
  readonly styles: readonly string[];
  /** Scripts that `file` imports at once, to load beside it. */
  readonly imports: readonly string[];
  /** The Subresource Integrity value of `file`. */
  readonly integrity: string;
}

export type WebManifest = Readonly<Record<string, WebEntry>>;

export interface WebFile {
  readonly type: string;
  readonly content: Buffer;
  readonly br?: Buffer;
  readonly gzip?: Buffer;
}

/** What `npm run build` made for browsers. */
export interface WebBuild {
  readonly files: ReadonlyMap<string, WebFile>;
  /** @throws {Error} for an entry that the build does not have. */
  entry(name: string): WebEntry;
}

/** The prefix of the files' addresses. */
export const WEB_PATH = "/web/";

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  woff2: "font/woff2",
};

/** Reads dist/web: some files of a few hundred kilobytes in all. */
export function readWebBuild(): WebBuild {
  const folder = fileURLToPath(packageFile("dist/web/"));
  const manifest: WebManifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/"));
  const files = names.flatMap((name): [string, WebFile][] => {
    const type = TYPES[name.split(".").at(-1) ?? ""];
    if (type === undefined) return [];
    const read = (ending: string) => readFileSync(join(folder, `${name}${ending}`));
    return [[name, { type, content: read(""), br: read(".br"), gzip: read(".gz") }]];
  });
  return {
    files: new Map(files),
    entry(name) {
      const entry = manifest[name];
      if (!entry) throw new Error(`dist/web has no ${name}: run npm run build`);
      return entry;
    },
  };
}
