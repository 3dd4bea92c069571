import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { newTenant, type TestTenant } from "../support/tenant.js";

const readme = readFileSync("clients/typescript/README.md", "utf8");
const snippets = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, snippet = ""]) => snippet);

describe("the client's README, as it is written", () => {
  let tenant: TestTenant;
  let key: string;
  beforeAll(async () => {
    tenant = await newTenant();
    ({ key } = await tenant.backEnd());
  });

  /** Bundles and runs a program; returns its exports. */
  async function run(source: string): Promise<Record<string, unknown>> {
    const contents = source.replace('"key_..."', JSON.stringify(key)).replace("http://127.0.0.1:8080", tenant.url);
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: ".", loader: "ts" },
      ...{ bundle: true, format: "esm", platform: "node", write: false, logLevel: "silent" },
    });
    const code = Buffer.from(outputFiles[0]?.contents ?? "").toString("base64");
    return import(`data:text/javascript;base64,${code}`);
  }

  it("works from the first token to the last list", async () => {
    const printed: unknown[] = [];
    const print = (...values: readonly unknown[]) => printed.push(values);
    const spies = [
      vi.spyOn(console, "log").mockImplementation(print),
      vi.spyOn(console, "error").mockImplementation(print),
    ];
    // Following the log needs another key, and does not end by itself: see test/e2e/audit/follow-logs.test.ts.
    // Proxies need one: see test/clients/typescript/calls.test.ts.
    const ours = snippets.filter((snippet) => !/client\/(browser|testing)|logs[.]follow|proxies[.]post/.test(snippet));
    try {
      const exported = await run(`${ours.join("\n")}\nawait vault.close(); export { data, traceId, newest };`);
      expect(exported).toMatchObject({ data: { number: "4242424242424242" }, traceId: expect.any(String) });
      expect(exported.newest).toHaveLength(3);
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
    // A card's number, the fields at fault, the ids of cards, and a page.
    expect(printed[0]).toEqual(["4242424242424242"]);
    expect(printed[1]).toEqual([{ "data.number": [expect.any(String)] }]);
    expect(printed).toHaveLength(4);
    expect(printed[3]).toEqual([1, "that is all"]);
  });

  it("names existing entries only", async () => {
    const { exports: entries } = JSON.parse(readFileSync("clients/typescript/package.json", "utf8"));
    const named = [...readme.matchAll(/@cloakroom\/client(\/[a-z]+)/g)].map(([, path]) => `.${path}`);
    expect(named.length).toBeGreaterThan(2);
    for (const name of named) expect(Object.keys(entries).some((entry) => entry.startsWith(name))).toBe(true);
  });
});
