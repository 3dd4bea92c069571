// Needs: chromium
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openShop, type Shop, vaultUrl } from "../../e2e/elements/support/shop.js";
import { sharedBrowser } from "../../support/browser.js";

const run = promisify(execFile);
const PACKAGE = "clients/elements";

let directory: string;
let files: readonly string[];
let shop: Shop;

/** The package as a shop gets it: packed, and installed in a separate folder with React. */
beforeAll(async () => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), "cloakroom-elements-")));
  const packed = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", directory], {
    cwd: PACKAGE,
  });
  const [{ filename, files: entries }] = JSON.parse(packed.stdout);
  files = entries.map(({ path }: { path: string }) => path);
  writeFileSync(join(directory, "package.json"), JSON.stringify({ private: true, type: "module" }));
  // React comes from here, because no registry may be reachable.
  const others = ["react", "react-dom", "scheduler", "@types/react", "csstype"].map((name) =>
    resolve("node_modules", name),
  );
  const flags = ["--offline", "--install-links", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...flags, join(directory, filename), ...others], { cwd: directory });
  shop = await openShop();
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await shop?.[Symbol.asyncDispose]();
});

async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: directory, loader: "tsx" },
    ...{ bundle: true, minify: true, write: false, format: "iife", platform: "browser", logLevel: "silent" },
    ...{ jsx: "automatic", define: { "process.env.NODE_ENV": '"development"' } },
  });
  return outputFiles[0]?.text ?? "";
}

describe("the packed package", () => {
  it("contains what its exports name, and no tests", () => {
    const { exports: map } = JSON.parse(readFileSync(`${PACKAGE}/package.json`, "utf8"));
    for (const target of JSON.stringify(map).match(/\.\/dist[^"]+/g) ?? []) expect(files).toContain(target.slice(2));
    expect(files).toEqual(expect.arrayContaining(["README.md", "LICENSE", "src/index.ts", "dist/index.d.ts.map"]));
    expect(files.filter((name) => /test\.|node_modules|tsbuildinfo/.test(name))).toEqual([]);
  });

  it("touches nothing when a server imports it", async () => {
    const program =
      'import { elements } from "@cloakroom/elements"; import { useElements } from "@cloakroom/elements/react"; console.log(typeof elements, typeof useElements);';
    writeFileSync(join(directory, "server.mjs"), program);
    expect((await run(process.execPath, ["server.mjs"], { cwd: directory })).stdout.trim()).toBe("function function");
  });

  it("has less than 6 KB in a bundle, compressed", async () => {
    const text = await bundle('import { elements } from "@cloakroom/elements"; window.elements = elements;');
    expect(gzipSync(text, { level: 9 }).length).toBeLessThan(6_144);
  });

  it.each([
    ["nodenext", "nodenext"],
    ["preserve", "bundler"],
  ])("has types for module %s, resolved as %s", async (module, moduleResolution) => {
    const file = `${moduleResolution}.mts`;
    writeFileSync(
      join(directory, file),
      `import { elements, ElementsError, type Elements } from "@cloakroom/elements";
       import { CardElement, useElements } from "@cloakroom/elements/react";
       const group: Elements = elements({ baseUrl: "https://vault.example.com", publicKey: "key" });
       const card = group.create("card", { style: { base: { color: "red" } }, required: true });
       const stop = card.on("change", ({ complete, brand }) => [complete, brand?.length]);
       stop.unsubscribe();
       const expiration = group.create("cardExpirationDate");
       const body = { type: "card", data: { number: card, expiration_month: expiration.month() } };
       export const token: Promise<unknown> = group.tokenize(body, { signal: AbortSignal.timeout(1) });
       // @ts-expect-error there is no such element
       group.create("cardName");
       // @ts-expect-error there is no such event
       card.on("keydown", () => {});
       export const all = [ElementsError, CardElement, useElements];`,
    );
    const flags = [
      "--strict",
      "--noEmit",
      "--exactOptionalPropertyTypes",
      "--skipLibCheck",
      "--target",
      "es2022",
      "--lib",
      "es2023,dom",
    ];
    const args = ["--module", module, "--moduleResolution", moduleResolution, "--types", "", ...flags, file];
    const checked = run(process.execPath, [resolve("node_modules/typescript/bin/tsc"), ...args], { cwd: directory });
    await checked.catch(({ stdout }) => expect.fail(stdout));
  });
});

describe("the React components", () => {
  it("mount once in strict mode, follow options, tokenize, and leave nothing behind", async () => {
    const script = await bundle(`
      import { StrictMode, useState } from "react";
      import { createRoot } from "react-dom/client";
      import { CardElement, useElements } from "@cloakroom/elements/react";
      window.events = [];
      function Checkout() {
        const elements = useElements({ baseUrl: ${JSON.stringify(vaultUrl)}, publicKey: ${JSON.stringify(shop.publicKey)} });
        const [card, setCard] = useState(null);
        const [count, setCount] = useState(0);
        window.pay = () => elements.tokenize({ type: "card", data: card });
        window.render = () => setCount(count + 1);
        return <CardElement id="card" elements={elements} options={{ label: "Card" }} onElement={setCard}
          onReady={() => window.events.push("ready")} onChange={({ complete }) => window.events.push("complete " + complete + " " + count)} />;
      }
      const root = createRoot(document.getElementById("root"));
      window.leave = () => root.unmount();
      root.render(<StrictMode><Checkout /></StrictMode>);`);
    const page = shop.page(
      `<!doctype html><html lang="en"><title>Shop</title><div id="root"></div><script>${script.replaceAll("</script", "<\\/script")}</script>`,
    );
    const browser = await sharedBrowser();
    try {
      const tab = await browser.newPage();
      const errors: string[] = [];
      tab.on("pageerror", (error) => errors.push(String(error)));
      await tab.goto(page);
      const events = () => tab.evaluate<string[]>("window.events");
      await expect.poll(events).toContain("ready");
      expect(await tab.evaluate("document.querySelectorAll('#card iframe').length")).toBe(1);
      expect(await tab.evaluate("document.querySelectorAll('iframe').length")).toBe(2);
      await tab.evaluate("window.render()");
      const frame = tab.frames().find((each) => each.url().includes("type=card#"));
      await frame?.locator("input").first().pressSequentially("4242424242424242");
      await frame?.locator("input").nth(1).pressSequentially("1231");
      await frame?.locator("input").nth(2).pressSequentially("123");
      await expect.poll(events).toContain("complete true 1");
      expect(await tab.evaluate("window.pay()")).toMatchObject({ type: "card", card: { last4: "4242" } });
      await tab.evaluate("window.leave()");
      await expect.poll(() => tab.evaluate("document.querySelectorAll('iframe').length")).toBe(0);
      expect(errors).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
