// Needs: chromium
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant } from "../../support/tenant.js";

const url = inject("serverUrl");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The paths that the page at /docs refers to. */
async function filesOfPage(): Promise<string[]> {
  const html = await (await fetch(`${url}/docs`)).text();
  const paths = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].flatMap(([, path]) => path ?? []);
  // The console is a page of its own. The name and the first entry lead to the same page.
  return [...new Set(paths)].filter((path) => path !== "/console");
}

describe("the documentation's files", () => {
  it("are the committed description, and a page", async () => {
    const description = await fetch(`${url}/openapi.json`);
    expect(description.status).toBe(200);
    expect(description.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await description.text()).toBe(readFileSync("gen/openapi.json", "utf8"));

    const page = await fetch(`${url}/docs`);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  it("have the protos beside them, with every import", async () => {
    const protos = await fetch(`${url}/protos.tar.gz`);
    expect(protos.status).toBe(200);
    expect(protos.headers.get("content-type")).toBe("application/gzip");
    expect(Buffer.from(await protos.arrayBuffer()).equals(readFileSync("dist/protos.tar.gz"))).toBe(true);
  });

  it("come from our own origin, and contain no inline script", async () => {
    const html = await (await fetch(`${url}/docs`)).text();
    expect(html.replace(/xmlns%3D%22[^"]*?%22/, "")).not.toMatch(/https?:/);
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style| on[a-z]+=/);
    const files = await filesOfPage();
    expect(files.filter((path) => /\.(?:js|css)$/.test(path))).toHaveLength(4);
    for (const path of files) expect((await fetch(`${url}${path}`)).status, path).toBe(200);
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
    const get = await fetch(`${url}${path}`);
    const head = await fetch(`${url}${path}`, { method: "HEAD" });
    expect(head.status).toBe(200);
    expect(head.headers.get("content-length")).toBe(String((await get.arrayBuffer()).byteLength));
    expect(head.headers.get("etag")).toBe(get.headers.get("etag"));
    expect(await head.text()).toBe("");
  });

  it("are not sent again while they are unchanged", async () => {
    for (const path of ["/openapi.json", "/docs", ...(await filesOfPage())]) {
      const etag = (await fetch(`${url}${path}`)).headers.get("etag") ?? "";
      const again = await fetch(`${url}${path}`, { headers: { "If-None-Match": etag } });
      expect([again.status, await again.text()], path).toEqual([304, ""]);
      const changed = await fetch(`${url}${path}`, { headers: { "If-None-Match": '"another"' } });
      expect(changed.status, path).toBe(200);
    }
  });

  it("may be cached if their path names their content, and are revalidated otherwise", async () => {
    const caching = async (path: string) => (await fetch(`${url}${path}`)).headers.get("cache-control");
    expect(await caching("/docs")).toBe("no-cache");
    expect(await caching("/openapi.json")).toBe("no-cache");
    for (const path of await filesOfPage()) {
      expect(await caching(path), path).toBe(
        /\/(?:swagger-ui|docs)\.(?:js|css)$/.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
      );
    }
  });

  it("can be read by pages of other origins, which generate clients from the description", async () => {
    const response = await fetch(`${url}/openapi.json`, { headers: { Origin: "https://tools.example" } });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
  });

  it("include the guides next to the reference, with working links", async () => {
    const guides = (await filesOfPage()).filter((path) => path.startsWith("/docs/guides/"));
    const tree: { guides: string[] }[] = JSON.parse(readFileSync("docs/tree.json", "utf8"));
    const names = tree.flatMap((group) => group.guides);
    expect(names).toHaveLength(28);
    expect(new Set(names).size).toBe(28);
    expect(guides).toEqual(names.map((name) => `/docs/guides/${name}`));
    for (const path of guides) {
      const page = await fetch(`${url}${path}`);
      const html = await page.text();
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(html).toContain(`<a href="${path}" aria-current="page">`);
      for (const [, target = ""] of html.matchAll(/<a href="([^"]+)"/g)) {
        const { pathname, hash, origin } = new URL(target, `${url}${path}`);
        if (origin !== url) continue;
        const found = await fetch(`${url}${pathname}`);
        expect(found.status, target).toBe(200);
        if (hash !== "") expect(await found.text(), target).toContain(`id="${hash.slice(1)}"`);
      }
    }
  });

  it("are served as Markdown, too, with a list for programs", async () => {
    const index = await (await fetch(`${url}/llms.txt`)).text();
    const whole = await (await fetch(`${url}/llms-full.txt`)).text();
    const listed = [...index.matchAll(/\]\((\/docs\/guides\/[\w-]+\.md)\)/g)].map(([, path]) => path ?? "");
    expect(listed).toHaveLength(28);
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
    for (const path of ["/docs/none", "/docs/..%2fpackage.json", "/docs/swagger-ui.js", "/openapi.yaml"]) {
      expect((await fetch(`${url}${path}`)).status, path).toBe(404);
    }
  });
});

describe("the page in a browser", () => {
  let browser: Browser;
  let page: Page;
  const requested: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await sharedBrowser();
    page = await browser.newPage();
    page.on("request", (request) => requested.push(request.url()));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(`${url}/docs`);
    await page.locator(".opblock-tag").first().waitFor();
  });

  afterAll(async () => {
    await browser?.close();
  });

  it("shows every group of operations, tokens first, below the product's name and the guides", async () => {
    expect(await page.locator("header .brand").textContent()).toBe("Cloakroom");
    expect(await page.locator("nav.tree a").allTextContents()).toContain("Payments");
    const { tags }: { tags: { name: string }[] } = JSON.parse(readFileSync("gen/openapi.json", "utf8"));
    const shown = await page
      .locator(".opblock-tag")
      .evaluateAll((all) => all.map((tag) => tag.getAttribute("data-tag")));
    expect(shown).toEqual(tags.map(({ name }) => name));
    expect(shown.slice(0, 3)).toEqual(["Token", "Tokenize", "Application"]);
    expect(await page.locator(".info .title").textContent()).toContain("Cloakroom");
  });

  it("sends a request with the entered key, and shows the response", async () => {
    const tenant = await newTenant();
    await page.getByRole("button", { name: "Authorize" }).first().click();
    await page.locator(".auth-container input").fill(tenant.managementKey);
    await page.locator(".auth-container").getByRole("button", { name: "Apply credentials" }).click();
    await page.locator(".modal-ux").getByRole("button", { name: "Close" }).first().click();
    await page.locator('.opblock-tag[data-tag="Tenant"]').click();
    const operation = page.locator("#operations-Tenant-getTenant");
    await operation.locator(".opblock-summary-control").click();
    await operation.getByRole("button", { name: "Try it out" }).click();
    await operation.getByRole("button", { name: "Execute" }).click();
    const response = operation.locator(".live-responses-table .response");
    await response.waitFor();
    expect(await response.locator(".response-col_status").textContent()).toContain("200");
    expect(await response.locator(".highlight-code").first().textContent()).toContain(tenant.id);
  });

  it("made no request to another origin, and violated no rule of its policy", () => {
    const origins = requested.map((each) => new URL(each)).filter(({ protocol }) => protocol !== "data:");
    expect(new Set(origins.map(({ origin }) => origin))).toEqual(new Set([url]));
    expect(complaints).toEqual([]);
  });
});

describe("a guide in a browser", () => {
  const paths = ["start", "operations", "elements", "command-line", "errors"].map((name) => `/docs/guides/${name}`);
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterAll(() => browser.close());

  it.each([
    [320, "light"],
    [1_024, "dark"],
    [1_440, "light"],
    [2_560, "dark"],
  ] as const)("does not scroll sideways at %d, %s, and axe finds nothing", async (width, colorScheme) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    for (const path of paths) {
      await page.goto(`${url}${path}`);
      expect([path, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([path, width]);
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
});
