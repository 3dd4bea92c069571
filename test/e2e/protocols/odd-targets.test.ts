import { type IncomingHttpHeaders, request } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";

interface Seen {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Of gRPC and of gRPC-Web, whose body ends with it. */
  readonly grpcStatus: string | undefined;
}

/** The status in a gRPC-Web body. */
const statusIn = (body: Buffer) => /grpc-status: ?(\d+)/i.exec(body.toString("latin1"))?.[1];

const CALLS = TokenService.methods.map(({ name }) => `/${TokenService.typeName}/${name}`);
const PAGES = ["/docs", "/docs/guides/search", "/docs/assets", "/web/manifest.json", "/llms.txt", "/openapi.json"];
const TYPES = [
  "application/json",
  "application/proto",
  "application/grpc",
  "application/grpc-web",
  "text/plain",
] as const;
/** In every target that is sent, and in no name of ours. */
const MARK = "zq7";

let server: ServerHere;
let session: ClientHttp2Session;
beforeAll(async () => {
  server = await startServerHere({ RATE_LIMITS: "off" });
  session = connect(server.url);
});
afterAll(async () => {
  session?.destroy();
  await server?.[Symbol.asyncDispose]();
});

function overHttp1(method: string, path: string, headers: Record<string, string>): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    const sent = request({ hostname, port, method, path, headers }, (response) => {
      const body: Buffer[] = [];
      response
        .on("data", (chunk: Buffer) => body.push(chunk))
        .on("end", () => {
          const { statusCode, trailers, headers: received } = response;
          const inHeaders = [trailers["grpc-status"], received["grpc-status"]].map((status) => status?.toString());
          const grpcStatus = inHeaders.find((status) => status !== undefined) ?? statusIn(Buffer.concat(body));
          resolve({ status: statusCode ?? 0, headers: received, grpcStatus });
        });
    });
    sent.on("error", reject).end(method === "POST" ? "{}" : undefined);
  });
}

function overHttp2(method: string, path: string, headers: Record<string, string>): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": method, ":path": path, ...headers });
    let head: IncomingHttpHeaders & { readonly ":status"?: number | undefined } = {};
    let grpcStatus: string | undefined;
    const body: Buffer[] = [];
    stream.on("response", (received) => {
      head = received;
      grpcStatus = received["grpc-status"]?.toString();
    });
    stream.on("trailers", (received) => {
      grpcStatus = received["grpc-status"]?.toString();
    });
    stream.on("data", (chunk: Buffer) => body.push(chunk));
    stream.on("end", () => {
      resolve({
        status: Number(head[":status"]),
        headers: head,
        grpcStatus: grpcStatus ?? statusIn(Buffer.concat(body)),
      });
    });
    stream.on("error", reject);
    stream.end(method === "POST" ? "{}" : undefined);
  });
}

/** Changes of a path that leave it the same, by the rules of HTTP and ours. */
const SAME = [(path: string) => path, (path: string) => `${path}/`];
/** Changes after which it is another path. */
const OTHERS = [
  (path: string) => `/${path}`,
  (path: string) => path.toUpperCase(),
  (path: string) => `${path}/${MARK}`,
  (path: string) => `/${MARK}${path}`,
  (path: string) => `${path}/../../../package.json`,
  (path: string) => `${path}%2f..%2f..%2fpackage.json`,
  (path: string) => `${path}/${"a".repeat(3_000)}`,
];
const QUERIES = ["", `?${MARK}=1`, `?${MARK}%`, `??${MARK}`, `?/${MARK}/../`];

const target = fc.record({
  path: fc.constantFrom(...CALLS, ...PAGES),
  isSame: fc.boolean(),
  change: fc.nat(),
  query: fc.constantFrom(...QUERIES),
  method: fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"),
  type: fc.constantFrom(...TYPES),
  send: fc.constantFrom(overHttp1, overHttp2),
});

/** The templates of routes in the metrics. */
async function routes(): Promise<ReadonlySet<string>> {
  const page = await (await fetch(`${server.adminUrl}/metrics`)).text();
  return new Set([...page.matchAll(/http_route="([^"]*)"/g)].map(([, route = ""]) => route));
}

describe("an unauthenticated request for an odd target", () => {
  it("gets no value, no file and no failure, is named by its trace alone, and makes no metric of its own", async () => {
    await fc.assert(
      fc.asyncProperty(target, async ({ path, isSame, change, query, method, type, send }) => {
        const changes = isSame ? SAME : OTHERS;
        const changed = changes[change % changes.length]?.(path) ?? path;
        const seen = await send(method, `${changed}${query}`, {
          "content-type": type,
          origin: "https://a.example.com",
        });
        const found = { method, target: `${changed}${query}`, type, ...seen };
        const isCall = CALLS.includes(path);
        // 501 says in Connect's words that there is no such method.
        expect(seen.status < 500 || (seen.status === 501 && !(isCall && isSame)), JSON.stringify(found)).toBe(true);
        expect(seen.headers["bt-trace-id"], JSON.stringify(found)).toMatch(/^[0-9a-f-]{36}$/);
        // A call in gRPC fails within a response of 200. No method is called without a key, and no other verb calls one.
        const isServed = seen.status < 300 && ["0", undefined].includes(seen.grpcStatus);
        if (isCall || !isSame) expect(isServed, JSON.stringify(found)).toBe(false);
        if (isCall && isSame && method !== "POST") expect(seen.status, JSON.stringify(found)).toBe(405);
      }),
      { numRuns: 600 },
    );
    const known = await routes();
    expect([...known].filter((route) => route.includes(MARK) || route.length > 200)).toEqual([]);
    expect([...known].filter((route) => route.startsWith("/docs")).toSorted()).toEqual(["/docs", "/docs/*"]);
  });
});
