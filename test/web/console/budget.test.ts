import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";

const root = new URL("../../../", import.meta.url);
/** In bytes. */
const FIRST_LOAD = 250_000;

interface Output {
  readonly entryPoint?: string;
  readonly cssBundle?: string;
  readonly imports: readonly { readonly path: string; readonly kind: string }[];
}

describe("the console's first load", () => {
  it("is at most 250 KB with gzip", () => {
    const { outputs } = JSON.parse(readFileSync(new URL("dist/web/meta.json", root), "utf8"));
    const all = new Map<string, Output>(Object.entries(outputs));
    const [main] = [...all].find(([, { entryPoint }]) => entryPoint === "src/web/console/main.tsx") ?? [];
    const loaded = new Set<string>();
    const load = (path: string) => {
      if (loaded.has(path)) return;
      loaded.add(path);
      const output = all.get(path);
      if (output?.cssBundle) load(output.cssBundle);
      for (const each of output?.imports ?? []) if (each.kind === "import-statement") load(each.path);
    };
    expect(main).toBeDefined();
    load(main ?? "");
    const sizes = [...loaded].map((path) => gzipSync(readFileSync(new URL(path, root)), { level: 9 }).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(FIRST_LOAD);
  });
});
