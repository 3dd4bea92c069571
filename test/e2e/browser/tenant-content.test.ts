import { once } from "node:events";
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, httpResponse, startDestination } from "../proxy/support/destination.js";
import { code, makeProxy } from "../proxy/support/proxies.js";

/** Headers with which a response would act on the vault's origin. */
const ORIGIN_WIDE = {
  "Service-Worker-Allowed": "/",
  "Clear-Site-Data": '"*"',
  "Strict-Transport-Security": "max-age=0",
  "Alt-Svc": 'h3="evil.example:443"',
  NEL: '{"report_to":"x","max_age":99}',
  "Report-To": '{"group":"x","max_age":99,"endpoints":[{"url":"https://evil.example"}]}',
  "Reporting-Endpoints": 'x="https://evil.example"',
  "Origin-Agent-Cluster": "?0",
  "Cross-Origin-Opener-Policy": "unsafe-none",
  "Cross-Origin-Embedder-Policy": "unsafe-none",
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Permissions-Policy": "camera=*",
  "Content-Security-Policy": "script-src * 'unsafe-inline'",
  "Content-Security-Policy-Report-Only": "default-src 'self'; report-uri https://evil.example",
  "X-Content-Type-Options": "off",
  "Referrer-Policy": "unsafe-url",
  Refresh: "0; url=https://evil.example",
  SourceMap: "https://evil.example/map",
  "Accept-CH": "Sec-CH-UA-Model",
  "Critical-CH": "Sec-CH-UA-Model",
  "Speculation-Rules": '"/rules"',
  "No-Vary-Search": "params",
  "Document-Policy": "force-load-at-top",
  Link: "<https://evil.example/x.js>; rel=preload; as=script",
};
/** Headers that only browsers act on. */
const FOR_BROWSERS = {
  "Set-Cookie": "planted=1; Path=/",
  "WWW-Authenticate": 'Basic realm="vault"',
  "Access-Control-Allow-Origin": "https://evil.example",
  "Access-Control-Allow-Credentials": "true",
};
const KEPT = {
  "X-Own": "kept",
  "Cache-Control": "public, max-age=60",
  ETag: '"1"',
  Vary: "Accept",
  "Access-Control-Expose-Headers": "X-Own, ETag",
};
const ALL = { ...ORIGIN_WIDE, ...FOR_BROWSERS, ...KEPT, "Content-Type": "text/html" };
const PAGE = "<script>alert(document.domain)</script>";

const BROWSER = {
  Origin: "https://shop.example",
  "Sec-Fetch-Site": "cross-site",
  "Sec-Fetch-Mode": "cors",
  "Sec-Fetch-Dest": "empty",
};

const url = inject("serverUrl");
let tenant: TestTenant;
let key: string;
let destination: Destination;
let transforming: string;
let reactorId: string;
let requestId: string;

beforeAll(async () => {
  tenant = await newTenant();
  ({ key } = await tenant.backEnd());
  const lines = Object.entries(ALL).map(([name, value]) => `${name}: ${value}`);
  destination = await startDestination(httpResponse("200 OK", lines, PAGE));
  const returned = `return { body: ${JSON.stringify(PAGE)}, headers: ${JSON.stringify(ALL)} };`;
  const definition = { destination_url: destination.url, response_transform: code(returned) };
  ({ key: transforming } = await makeProxy(tenant, definition));
  const thrown = `const { CustomHttpResponseError } = require("@basis-theory/basis-theory-reactor-formulas-sdk-js");
    module.exports = async () => { throw new CustomHttpResponseError({
      status: 200, headers: ${JSON.stringify(ALL)}, body: ${JSON.stringify(PAGE)} }); };`;
  const made = await tenant.manage("POST", "/reactors", { body: { name: "Own response", code: thrown } });
  reactorId = made.body.id;
  const started = await call("POST", `/reactors/${reactorId}/react-async`, {});
  requestId = String(Object(await started.json()).asyncReactorRequestId);
});
afterAll(() => destination[Symbol.asyncDispose]());

const call = (method: string, path: string, headers: Record<string, string>) =>
  fetch(`${url}${path}`, {
    method,
    headers: { "BT-API-KEY": key, ...(method === "POST" ? { "Content-Type": "application/json" } : {}), ...headers },
    ...(method === "POST" ? { body: "{}" } : {}),
  });

/** The ways in which a tenant's content becomes a response. */
const WAYS: readonly (readonly [what: string, ask: (headers: Record<string, string>) => Promise<Response>])[] = [
  ["a proxy", (headers) => call("GET", "/proxy/x", { "BT-PROXY-URL": destination.url, ...headers })],
  ["a proxy's transform", (headers) => call("GET", "/proxy/x", { "BT-PROXY-KEY": transforming, ...headers })],
  ["a reactor", (headers) => call("POST", `/reactors/${reactorId}/react`, headers)],
  ["a reactor's result", (headers) => resultOf(headers)],
];

async function resultOf(headers: Record<string, string>): Promise<Response> {
  const ask = () => call("GET", `/reactors/${reactorId}/results/${requestId}`, headers);
  await expect.poll(async () => (await ask()).status).not.toBe(404);
  return ask();
}

describe.each(WAYS)("the response of %s", (_, ask) => {
  it("goes to a client without the headers that act on the origin, and with all others", async () => {
    const { status, headers } = await ask({});
    expect(status).toBe(200);
    expectSandboxed(headers);
    for (const [name, value] of Object.entries({ ...FOR_BROWSERS, ...KEPT })) {
      if (name !== "Vary") expect([name, headers.get(name)]).toEqual([name, value]);
    }
    expect(headers.get("content-type")).toBe("text/html");
  });

  it("goes to a browser also without the tenant's cookies, passwords and permissions", async () => {
    const { status, headers } = await ask(BROWSER);
    expect(status).toBe(200);
    expectSandboxed(headers);
    for (const name of ["set-cookie", "www-authenticate", "access-control-allow-credentials"]) {
      expect([name, headers.get(name)]).toEqual([name, null]);
    }
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("x-own")).toBe("kept");
  });

  it.each([
    ...["document", "iframe", "frame", "object", "embed", "script", "style", "font", "worker", "sharedworker"],
    ...["serviceworker", "manifest", "xslt"],
  ])("is denied as %s", async (dest) => {
    const before = destination.requests.length;
    const response = await ask({ ...BROWSER, "Sec-Fetch-Dest": dest, "Sec-Fetch-Mode": "no-cors" });
    expect(response.status).toBe(403);
    expect(await response.text()).toContain("permission_denied");
    expectSandboxed(response.headers);
    expect(destination.requests.length - before).toBe(0);
  });

  it("is denied as a service worker script", async () => {
    expect((await ask({ "Service-Worker": "script" })).status).toBe(403);
  });
});

function expectSandboxed(headers: Headers): void {
  expect(headers.get("content-security-policy")).toMatch(/^sandbox(?:;|$)/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  for (const name of Object.keys(ORIGIN_WIDE)) {
    if (/^(?:content-security-policy|x-content-type-options)$/i.test(name)) continue;
    expect([name, headers.get(name)]).toEqual([name, null]);
  }
}

describe("a proxied response", () => {
  it("varies by the purpose that a browser states, if caches may keep it", async () => {
    const { headers } = await call("GET", "/proxy/x", { "BT-PROXY-URL": destination.url });
    expect(headers.get("vary")).toBe("Accept, Sec-Fetch-Dest, Sec-Fetch-Site");
  });

  it("lets pages read the headers that its destination names, besides ours", async () => {
    const { headers } = await call("GET", "/proxy/x", { "BT-PROXY-URL": destination.url, ...BROWSER });
    const exposed = headers.get("access-control-expose-headers") ?? "";
    expect(exposed).toContain("BT-PROXY-DESTINATION-STATUS");
    expect(exposed).toMatch(/, X-Own, ETag$/);
  });

  it("is the same over HTTP/2", async () => {
    const session = connect(url);
    const stream = session.request({ ":path": "/proxy/x", "bt-api-key": key, "bt-proxy-url": destination.url });
    const [headers] = await once(stream, "response");
    session.destroy();
    expect(headers).toMatchObject({ "x-own": "kept", "x-content-type-options": "nosniff" });
    expect(String(headers["content-security-policy"])).toMatch(/^sandbox;/);
    expect(headers["service-worker-allowed"]).toBeUndefined();
  });

  it("is sandboxed even if it is an error", async () => {
    expectSandboxed((await call("GET", "/proxy/x", { "BT-PROXY-URL": "http://127.0.0.1:1" })).headers);
    expectSandboxed((await call("DELETE", "/proxy/x", {})).headers);
  });
});
