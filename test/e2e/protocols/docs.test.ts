// Needs: chromium
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";

const url = inject("serverUrl");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The paths that a page refers to. The console is no part of the documentation. */
async function filesOfPage(path: string): Promise<string[]> {
  const html = await (await fetch(`${url}${path}`)).text();
  const paths = [...html.matchAll(/(?:src|href|data-search-index)="(\/[^"#]+)(?:#[^"]*)?"/g)].flatMap(
    ([, to]) => to ?? [],
  );
  return [...new Set(paths)].filter((to) => to !== "/console");
}

/** Every page and file that the documentation leads to from its front page. */
async function everyFile(): Promise<ReadonlySet<string>> {
  const found = new Set(["/docs"]);
  for (const path of found) {
    if (!/\.\w+$/.test(path)) for (const next of await filesOfPage(path)) found.add(next);
  }
  return found;
}

describe("the documentation's files", () => {
  it("are the committed description, and pages", async () => {
    const description = await fetch(`${url}/openapi.json`);
    expect(description.status).toBe(200);
    expect(description.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await description.text()).toBe(readFileSync("gen/openapi.json", "utf8"));
    const page = await fetch(`${url}/docs`);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  });

  it("have the protos beside them, with every import", async () => {
    const protos = await fetch(`${url}/protos.tar.gz`);
    expect(protos.status).toBe(200);
    expect(protos.headers.get("content-type")).toBe("application/gzip");
    expect(Buffer.from(await protos.arrayBuffer()).equals(readFileSync("dist/protos.tar.gz"))).toBe(true);
  });

  it("come from our own origin, contain no inline script, and are all reached from the front page", async () => {
    const files = await everyFile();
    const pages = [...files].filter((path) => !/\.\w+$/.test(path));
    const { tags }: { tags: unknown[] } = JSON.parse(readFileSync("gen/openapi.json", "utf8"));
    const tree: { guides: object }[] = JSON.parse(readFileSync("docs/tree.json", "utf8"));
    const guides = tree.flatMap((group) => Object.keys(group.guides));
    expect(pages.filter((path) => path.startsWith("/docs/api/"))).toHaveLength(tags.length);
    expect(pages.filter((path) => path.startsWith("/docs/guides/")).toSorted()).toEqual(
      guides.map((name) => `/docs/guides/${name}`).toSorted(),
    );
    for (const path of files) {
      const response = await fetch(`${url}${path}`);
      expect([path, response.status]).toEqual([path, 200]);
      if (!pages.includes(path)) continue;
      expect(response.headers.get("content-security-policy"), path).toContain("default-src 'none'");
      expect(await response.text(), path).not.toMatch(
        /<script(?![^>]* src="\/docs\/assets\/)|<style|<[^>]+ (?:on[a-z]+|style)=/,
      );
    }
  });

  it("lead to sections that exist", async () => {
    const ids = new Map<string, ReadonlySet<string>>();
    const links = new Set<string>();
    for (const path of await everyFile()) {
      if (/\.\w+$/.test(path)) continue;
      const html = await (await fetch(`${url}${path}`)).text();
      ids.set(path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? "")));
      for (const [, to = ""] of html.matchAll(/<a [^>]*href="([^"]+)"/g)) links.add(new URL(to, `${url}${path}`).href);
    }
    const targets = [...links].map((link) => new URL(link)).filter(({ origin, hash }) => origin === url && hash !== "");
    expect(targets.length).toBeGreaterThan(300);
    expect(targets.filter(({ pathname, hash }) => !ids.get(pathname)?.has(hash.slice(1))).map(String)).toEqual([]);
  });

  it("may run nothing else, whatever a description contains", async () => {
    const policy = (await fetch(`${url}/docs`)).headers.get("content-security-policy") ?? "";
    const directives = Object.fromEntries(policy.split("; ").map((text) => [text.split(" ")[0], text]));
    expect(directives["default-src"]).toBe("default-src 'none'");
    expect(directives["script-src"]).toBe("script-src 'self'");
    expect(directives["style-src"]).toBe("style-src 'self'");
    expect(directives["connect-src"]).toBe("connect-src 'self'");
    expect(directives["frame-ancestors"]).toBe("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
  });

  it.each(["/openapi.json", "/docs", "/docs/"])("%s answers HEAD like GET, without a body", async (path) => {
    const get = await fetch(`${url}${path}`, { headers: { "Accept-Encoding": "identity" } });
    const head = await fetch(`${url}${path}`, { method: "HEAD", headers: { "Accept-Encoding": "identity" } });
    expect(head.status).toBe(200);
    expect(head.headers.get("content-length")).toBe(String((await get.arrayBuffer()).byteLength));
    expect(head.headers.get("etag")).toBe(get.headers.get("etag"));
    expect(await head.text()).toBe("");
  });

  it("are compressed for browsers that take it, each page below 40 KB", async () => {
    for (const path of await everyFile()) {
      if (/\.\w+$/.test(path)) continue;
      const response = await fetch(`${url}${path}`, { method: "HEAD", headers: { "Accept-Encoding": "gzip" } });
      expect([path, response.headers.get("content-encoding")]).toEqual([path, "gzip"]);
      expect(Number(response.headers.get("content-length")), path).toBeLessThan(40 * 1_024);
    }
  });

  it("are not sent again while they are unchanged", async () => {
    for (const path of ["/openapi.json", "/docs", ...(await filesOfPage("/docs"))]) {
      const etag = (await fetch(`${url}${path}`)).headers.get("etag") ?? "";
      const again = await fetch(`${url}${path}`, { headers: { "If-None-Match": etag } });
      expect([again.status, await again.text()], path).toEqual([304, ""]);
      const changed = await fetch(`${url}${path}`, { headers: { "If-None-Match": '"another"' } });
      expect(changed.status, path).toBe(200);
    }
  });

  it("may be cached if their path names their content, and are revalidated otherwise", async () => {
    const caching = async (path: string) => (await fetch(`${url}${path}`)).headers.get("cache-control");
    expect(await caching("/openapi.json")).toBe("no-cache");
    const files = await filesOfPage("/docs");
    expect(files.filter((path) => path.startsWith("/docs/assets/"))).toHaveLength(3);
    for (const path of ["/docs", ...files]) {
      expect(await caching(path), path).toBe(
        path.startsWith("/docs/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
      );
    }
  });

  it("can be read by pages of other origins, which generate clients from the description", async () => {
    const response = await fetch(`${url}/openapi.json`, { headers: { Origin: "https://tools.example" } });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
  });

  it("are served as Markdown, too, with a list for programs", async () => {
    const index = await (await fetch(`${url}/llms.txt`)).text();
    const whole = await (await fetch(`${url}/llms-full.txt`)).text();
    const listed = [...index.matchAll(/\]\((\/docs\/guides\/[\w-]+\.md)\): \S/g)].map(([, path]) => path ?? "");
    const guides = (await filesOfPage("/docs")).filter((path) => path.startsWith("/docs/guides/"));
    expect(listed).toEqual(guides.map((path) => `${path}.md`));
    for (const path of listed) {
      const response = await fetch(`${url}${path}`);
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/markdown; charset=utf-8"]);
      expect(whole).toContain(await response.text());
    }
  });

  it("open in a browser at the base URL; programs get a 404 there", async () => {
    const browser = await fetch(url, { headers: { Accept: "text/html,*/*;q=0.8" }, redirect: "manual" });
    expect([browser.status, browser.headers.get("location")]).toEqual([302, "/docs"]);
    const program = await fetch(url);
    expect(program.status).toBe(404);
    expect(await program.json()).toMatchObject({ code: "not_found" });
  });

  it("are the only files below /docs", async () => {
    const others = [
      "/docs/none",
      "/docs/..%2fpackage.json",
      "/docs/index.html",
      "/docs/guides/start.md.gz",
      "/openapi.yaml",
    ];
    for (const path of others) expect((await fetch(`${url}${path}`)).status, path).toBe(404);
  });
});

describe("the type of a problem response", () => {
  it("is the address of what the documentation says of its code", async () => {
    const response = await fetch(`${url}/tokens`, { method: "POST" });
    const { type, code }: { type: string; code: string } = JSON.parse(await response.text());
    const address = new URL(type, url);
    const page = await (await fetch(new URL(address.pathname, url))).text();
    expect(code).toBe("unauthenticated");
    expect(page).toContain(`<tr id="${address.hash.slice(1)}">\n<td><code>${code}</code>`);
  });
});

describe("a page in a browser", () => {
  const guides = ["start", "operations", "elements", "command-line", "errors"].map((name) => `/docs/guides/${name}`);
  const paths = ["/docs", "/docs/api", "/docs/api/token", "/docs/api/proxy", ...guides];
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterAll(() => browser.close());

  // Two layouts, one for each scheme, and two widths of the wider one.
  it.each([
    [320, "light"],
    [1_440, "dark"],
  ] as const)("does not scroll sideways, and axe finds nothing, at %d, %s", async (width, colorScheme) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    for (const path of paths) {
      await page.goto(`${url}${path}`);
      for (const viewed of width === 320 ? [width] : [1_024, 2_560, width]) {
        await page.setViewportSize({ width: viewed, height: 900 });
        const scrolled = await page.evaluate("document.documentElement.scrollWidth");
        expect([path, scrolled]).toEqual([path, viewed]);
      }
      await page.evaluate(AXE);
      const found = await page.evaluate(
        "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 120))]))",
      );
      expect([path, found]).toEqual([path, []]);
    }
    await context.close();
  });

  it("can be read without JavaScript, and leads on", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${url}/docs/guides/start`);
    await page.locator("a[rel=next]").click();
    await page.getByRole("heading", { level: 1, name: "Glossary" }).waitFor();
    await context.close();
  });

  it("finds sections and operations by Ctrl K, and opens them by keyboard", async () => {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(`${url}/docs`);
    await page.keyboard.press("Control+k");
    await page.getByRole("searchbox").fill("verification code");
    await page.getByRole("dialog").getByRole("link").first().waitFor();
    await page.getByRole("searchbox").fill("regenerate application key");
    await page.getByRole("link", { name: "Regenerate application key" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/docs/api/application#regenerateApplicationKey");
    await page.keyboard.press("Control+k");
    await page.getByRole("searchbox").fill("zzzzqqqq");
    await page.getByText("Nothing is found for “zzzzqqqq”.").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").isVisible()).toBe(false);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("shows calls in one language, on all pages until another is chosen", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${url}/docs/api/token`);
    const shown = () =>
      page.locator("#createToken").evaluate((heading) => {
        const figures = [...(heading.closest("section")?.querySelectorAll("figure[data-language]") ?? [])];
        return [
          ...new Set(
            figures
              .filter((figure) => !figure.hasAttribute("hidden"))
              .map((each) => each.getAttribute("data-language")),
          ),
        ];
      });
    expect(await shown()).toEqual(["curl"]);
    await page.getByRole("button", { name: "TypeScript" }).first().click();
    expect(await shown()).toEqual(["TypeScript"]);
    await page.goto(`${url}/docs/api/tokenize`);
    await page.goto(`${url}/docs/api/token`);
    expect(await shown()).toEqual(["TypeScript"]);
    await context.close();
  });
});
