import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, httpResponse, type RawRequest, startDestination } from "../proxy/support/destination.js";
import { makeProxy } from "../proxy/support/proxies.js";

/** Headers with which a destination would act on the vault's origin. */
const HOSTILE = [
  "Service-Worker-Allowed: /",
  "Set-Cookie: planted=1; Path=/",
  'Clear-Site-Data: "*"',
  "Content-Security-Policy: script-src * 'unsafe-inline'",
  "Access-Control-Allow-Credentials: true",
  "Cache-Control: public, max-age=3600",
];

const FILES: Readonly<Record<string, readonly [type: string, content: string]>> = {
  "/page": ["text/html", "<!doctype html><title>theirs</title><script>document.title = 'ran at ' + origin</script>"],
  "/sw.js": ["text/javascript", "self.addEventListener('fetch', (event) => event.respondWith(new Response('stolen')))"],
  "/script.js": ["text/javascript", "globalThis.ran = globalThis.location.origin; export default 1;"],
  "/style.css": ["text/css", "body { color: rgb(1, 2, 3) }"],
  "/data": ["application/json", '{"answer": 42}'],
  "/image.svg": ["image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>'],
};

/** The server of an attacker who wants the vault's origin to run their code. */
function serveHostile(socket: Socket, { line }: RawRequest): void {
  const [type, content] = FILES[line.split(" ")[1] ?? ""] ?? ["text/plain", "none"];
  socket.write(
    httpResponse("200 OK", [`Content-Type: ${type}`, "X-Own: kept", "Connection: close", ...HOSTILE], content),
  );
}

const url = inject("serverUrl");
let tenant: TestTenant;
let hostile: Destination;
let key: string;
let shop: Server;
let shopUrl: string;
let browser: Browser;

/** A page of another origin that loads what the tests request. */
const SHOP_PAGE = "<!doctype html><title>Shop</title><body></body>";

beforeAll(async () => {
  tenant = await newTenant();
  hostile = await startDestination(serveHostile);
  ({ key } = await makeProxy(tenant, { destination_url: hostile.url, require_auth: false }));
  shop = createServer((_, response) => response.setHeader("Content-Type", "text/html").end(SHOP_PAGE));
  await new Promise<void>((resolve) => shop.listen(0, "localhost", resolve));
  shopUrl = `http://localhost:${Object(shop.address()).port}/`;
  browser = await sharedBrowser();
});
afterAll(async () => {
  await browser?.close();
  shop?.close();
  await hostile?.[Symbol.asyncDispose]();
});

const link = (path: string) => `${url}/proxy${path}?bt-proxy-key=${key}`;

let asked: number;
beforeEach(() => {
  asked = hostile.requests.length;
});
/** Requests that the destination received since the test began. */
const askedFor = () => hostile.requests.slice(asked).map(({ line }) => line);

async function within(
  start: string,
  work: (page: Page, context: BrowserContext) => Promise<void>,
  options = {},
): Promise<void> {
  const context = await browser.newContext(options);
  try {
    const page = await context.newPage();
    await page.goto(start);
    await work(page, context);
  } finally {
    await context.close();
  }
}

/** Loads something into a page with a script of ours there; resolves with the outcome. */
const load = (page: Page, script: string) => page.evaluate<unknown>(`(async () => { ${script} })()`);

const appendElement = (tag: string, properties: Record<string, string>) =>
  `void document.body.append(Object.assign(document.createElement("${tag}"), ${JSON.stringify(properties)}))`;

const loadElement = (tag: string, properties: Record<string, string>) => `
  const element = Object.assign(document.createElement("${tag}"), ${JSON.stringify(properties)});
  return new Promise((resolve) => {
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("failed");
    document.body.append(element);
  });`;

describe("a proxy's link in a browser", () => {
  it("opens nothing of the destination's", async () => {
    await within(shopUrl, async (page) => {
      const opened = await page.goto(link("/page"));
      expect(opened?.status()).toBe(403);
      expect(await opened?.json()).toMatchObject({ proxy_error: { code: "permission_denied", status: 403 } });
      expect(await page.title()).not.toContain("ran");
      // Even this response has an opaque origin.
      expect(await page.evaluate("globalThis.origin")).toBe("null");
      expect(askedFor()).toEqual([]);
    });
  });

  it.each<[what: string, tag: string, source: string, path: string, more?: Record<string, string>]>([
    ["an iframe", "iframe", "src", "/page"],
    ["an object", "object", "data", "/page"],
    ["an embedded plug-in", "embed", "src", "/page", { type: "text/html" }],
    ["a script", "script", "src", "/script.js"],
    ["a module", "script", "src", "/script.js", { type: "module" }],
    ["a style sheet", "link", "href", "/style.css", { rel: "stylesheet" }],
    ["a preloaded script", "link", "href", "/script.js", { rel: "preload", as: "script" }],
    ["a prefetched page", "link", "href", "/page", { rel: "prefetch" }],
  ])("cannot be a %s of another page", async (_, tag, source, path, more) => {
    await within(shopUrl, async (page) => {
      const isOurs = (request: Request) => request.url().includes("/proxy/");
      // Chromium hides the refusal of some elements from its page (opaque response blocking).
      const [ended] = await Promise.all([
        Promise.race([
          page.waitForEvent("requestfinished", isOurs).then(async (request) => (await request.response())?.status()),
          page.waitForEvent("requestfailed", isOurs).then(() => "blocked"),
        ]),
        page.evaluate(appendElement(tag, { ...more, [source]: link(path) })),
      ]);
      expect([403, "blocked"]).toContain(ended);
      expect(await page.evaluate("globalThis.ran")).toBeUndefined();
      expect(await page.evaluate("getComputedStyle(document.body).color")).toBe("rgb(0, 0, 0)");
      expect(askedFor()).toEqual([]);
    });
  });

  it("cannot be a font of another page", async () => {
    await within(shopUrl, async (page) => {
      const ended = await load(
        page,
        `return new FontFace("Theirs", "url(${link("/font")})").load().then(() => "loaded", () => "failed");`,
      );
      expect([ended, askedFor()]).toEqual(["failed", []]);
    });
  });

  it("still answers fetch() of any page, and shows as an image", async () => {
    await within(shopUrl, async (page) => {
      const fetched = await load(
        page,
        `const answered = await fetch(${JSON.stringify(link("/data"))}, { headers: { "X-Any": "1" } });
         return [answered.status, await answered.json(), answered.headers.get("BT-PROXY-DESTINATION-STATUS")];`,
      );
      expect(fetched).toEqual([200, { answer: 42 }, "200"]);
      expect(hostile.last().header("x-any")).toBe("1");
      expect(await load(page, loadElement("img", { src: link("/image.svg") }))).toBe("loaded");
    });
  });

  it("never allows credentials, whatever the destination says", async () => {
    await within(shopUrl, async (page) => {
      const request = `fetch(${JSON.stringify(link("/data"))}, { credentials: "include" })`;
      expect(await load(page, `return ${request}.then(() => "read", () => "refused");`)).toBe("refused");
      expect(askedFor()).toHaveLength(1);
    });
  });
});

/** As if an attacker had found a way around the policy of one of our pages. */
const PAST_OUR_POLICY = { bypassCSP: true };

describe("a script on a page of the vault's origin", () => {
  it("registers no service worker of a destination; none controls a later visit", async () => {
    await within(
      `${url}/docs`,
      async (page, context) => {
        const registered = await load(
          page,
          `return navigator.serviceWorker.register(${JSON.stringify(link("/sw.js").slice(url.length))}, { scope: "/" })
             .then(() => "registered", () => "refused");`,
        );
        expect([registered, askedFor()]).toEqual(["refused", []]);
        const later = await context.newPage();
        await later.goto(`${url}/docs`);
        expect(await later.evaluate("navigator.serviceWorker.controller")).toBeNull();
        expect(await later.evaluate("fetch('/healthz').then((response) => response.text())")).toContain("ok");
      },
      PAST_OUR_POLICY,
    );
  });

  it.each([
    ["worker", "new Worker(LINK)"],
    ["shared worker", "new SharedWorker(LINK)"],
  ])("starts no %s of a destination", async (_, made) => {
    await within(
      `${url}/docs`,
      async (page) => {
        const script = made.replace("LINK", JSON.stringify(link("/script.js").slice(url.length)));
        const ended = await load(
          page,
          `const worker = ${script};
           return new Promise((resolve) => {
             worker.onerror = () => resolve("failed");
             worker.onmessage = () => resolve("ran");
           });`,
        );
        expect([ended, askedFor()]).toEqual(["failed", []]);
      },
      PAST_OUR_POLICY,
    );
  });

  it("neither sets cookies through a proxy nor sends the vault's to the destination", async () => {
    await within(`${url}/docs`, async (page, context) => {
      await context.addCookies([{ name: "session", value: "of-the-vault", url }]);
      const path = link("/data").slice(url.length);
      const response = await load(page, `return (await fetch(${JSON.stringify(path)})).status;`);
      expect([response, askedFor().length]).toEqual([200, 1]);
      expect(hostile.last().header("cookie")).toBeUndefined();
      expect((await context.cookies(url)).map(({ name }) => name)).toEqual(["session"]);
    });
  });

  it("is limited by the page's own policy: no worker, no service worker, no inline script", async () => {
    await within(`${url}/docs`, async (page) => {
      const path = JSON.stringify(link("/sw.js").slice(url.length));
      const violated = await load(
        page,
        `const violated = [];
         const all = new Promise((resolve) => {
           addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
             if (violated.push(effectiveDirective) === 3) resolve();
           });
         });
         document.body.append(Object.assign(document.createElement("script"), { textContent: "globalThis.ran = 1" }));
         try { new Worker(${path}); } catch {}
         navigator.serviceWorker.register(${path}).catch(() => {});
         await all;
         return violated.sort();`,
      );
      expect(violated).toEqual(["script-src-elem", "worker-src", "worker-src"]);
      expect([await page.evaluate("globalThis.ran"), askedFor()]).toEqual([undefined, []]);
    });
  });
});
