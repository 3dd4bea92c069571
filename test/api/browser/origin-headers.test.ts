import { describe, expect, it } from "vitest";
import { BROWSER_HEADERS, ORIGIN_HEADERS, passedHeaders } from "../../../src/api/browser/origin-headers.js";

const BROWSER = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" };

const toClients = passedHeaders({});
const toBrowsers = passedHeaders(BROWSER);

/** The headers of a group as a destination might spell them. */
const spelled = (names: string) =>
  names.split(/\s+/).map((name) => name.replace("*", "-anything").replace("--", "-").toUpperCase());

describe("headers of a tenant's content", () => {
  it.each(ORIGIN_HEADERS.map(({ effect, names }) => [effect, names] as const))("are removed if they %s", (_, names) => {
    for (const name of spelled(names)) expect([name, toClients(name, "x")]).toEqual([name, false]);
  });

  it.each(BROWSER_HEADERS.map(({ effect, names }) => [effect, names] as const))(
    "pass only to clients other than browsers if they %s",
    (_, names) => {
      for (const name of spelled(names)) {
        expect([name, toClients(name, "x"), toBrowsers(name, "x")]).toEqual([name, true, false]);
      }
    },
  );

  it.each([
    ...["Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "Alt-Svc", "NEL", "Report-To"],
    ...["Reporting-Endpoints", "Origin-Agent-Cluster", "Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy"],
    ...["Cross-Origin-Resource-Policy", "Permissions-Policy", "Content-Security-Policy", "Refresh", "SourceMap"],
    ...["Content-Security-Policy-Report-Only", "Accept-CH", "Critical-CH", "Speculation-Rules", "No-Vary-Search"],
    ...["Document-Policy", "X-SourceMap", "Public-Key-Pins-Report-Only", "Secure-Session-Registration", "Set-Login"],
    ...["Use-As-Dictionary", "Attribution-Reporting-Register-Trigger", "Shared-Storage-Write"],
  ])("do not act on the origin: %s", (name) => {
    expect(toClients(name, "x")).toBe(false);
  });

  it.each([
    ...["Content-Type", "Cache-Control", "ETag", "Location", "Retry-After", "X-Frame-Options", "Content-Disposition"],
    ...["X-Request-Id", "RateLimit-Remaining", "Server-Timing", "Vary", "Expires", "Date", "Server", "Accept-Ranges"],
    ...["Accept-Charset", "Accept-Patch", "Security", "Report", "X-Content-Security", "Set-Cookies", "Alt-Svc-Own"],
  ])("pass: %s", (name) => {
    expect([toClients(name, "x"), toBrowsers(name, "x")]).toEqual([true, true]);
  });

  it.each<[string, boolean]>([
    ['<https://api.example/items?page=2>; rel="next", <https://api.example/items?page=9>; rel="last"', true],
    ["</preload/prefetch>; rel=self", true],
    ['<a>; title="rel=preload"; rel=alternate', true],
    ["</evil.js>; rel=preload; as=script", false],
    ['</a>; rel="next", </evil.js>;rel = "PreLoad"', false],
    ['</x>; rel="next modulepreload"', false],
    ["<//evil>; rel=preconnect", false],
    ["</sw.js>; rel=serviceworker; scope=/", false],
    ["</d>; rel=compression-dictionary", false],
    ['</evil.js>; rel="a;b preload"', false],
    ['</evil.js>; rel="a\\" preload"', false],
    ['</evil.js>; rel="pre\\load"', false],
    ["</evil.js>; rel='a;b preload'", false],
    ["</evil.js>; rel=a preload", false],
    ["</evil.js>; rel*=UTF-8''preload", false],
    ['</evil.css>; title="; rel=next"; rel=stylesheet', false],
    ['</tokens?page=2>; rel=next; title="preload"', true],
  ])("pass as links that nothing loads by itself: %s", (value, passes) => {
    expect(toClients("Link", value)).toBe(passes);
  });
});
