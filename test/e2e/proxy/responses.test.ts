import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect, createServer } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { logLineOf } from "../../support/log-line.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import {
  type Destination,
  httpResponse,
  type RawRequest,
  type Reply,
  startDestination,
} from "./support/destination.js";
import { code, makeProxy } from "./support/proxies.js";
import { rawCall } from "./support/raw-call.js";

const STATUS = "bt-proxy-destination-status";

describe("the response of a destination", () => {
  let tenant: TestTenant;
  let key: string;
  let destination: Destination;
  beforeAll(async () => {
    tenant = await newTenant();
    ({ key } = await tenant.backEnd());
  });
  afterEach(() => destination[Symbol.asyncDispose]());

  const ask = async (reply: Reply, method = "GET", lines: readonly string[] = [], body: string | Buffer = "") => {
    destination = await startDestination(reply);
    return rawCall(
      [`${method} /proxy/x HTTP/1.1`, `BT-API-KEY: ${key}`, `BT-PROXY-URL: ${destination.url}`, ...lines],
      body,
    );
  };
  const refusal = async (...asked: Parameters<typeof ask>) => {
    const { status, header, body } = await ask(...asked);
    const { proxy_error } = JSON.parse(body.toString());
    expect(proxy_error.status).toBe(status);
    return [status, proxy_error.code, header(STATUS)];
  };

  it.each([
    "200 OK",
    "201 Made By Hand",
    "226 IM Used",
    "302 Found",
    "400 Bad",
    "401 No",
    "404 Not Here",
    "429 Slow",
    "500 Oh",
    "503 Later",
    "999 Own",
  ])("goes to the caller unchanged: %s", async (line) => {
    const received = await ask(
      httpResponse(line, ["Content-Type: text/x-own", "X-One.Two: a", "x-one.two: b"], "the body"),
    );
    const [status, ...reason] = line.split(" ");
    expect([received.status, received.reason]).toEqual([Number(status), reason.join(" ")]);
    expect(received.header(STATUS)).toBe(status);
    expect(received.header("content-type")).toBe("text/x-own");
    expect(received.headers.filter(([name]) => /one/i.test(name)).map(([, value]) => value)).toEqual(["a", "b"]);
    expect(received.body.toString()).toBe("the body");
  });

  it.each(["204 No Content", "304 Not Modified"])("has no body with %s", async (line) => {
    const received = await ask(`HTTP/1.1 ${line}\r\nETag: "x"\r\n\r\n`);
    expect(received.status).toBe(Number(line.slice(0, 3)));
    expect(received.header("etag")).toBe('"x"');
    expect(received.body).toHaveLength(0);
  });

  it("may be preceded by 100 and 103, which are not forwarded", async () => {
    const received = await ask(
      Buffer.concat([
        Buffer.from("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
        httpResponse("200 OK", [], "after all"),
      ]),
    );
    expect([received.status, received.header("link"), received.body.toString()]).toEqual([200, undefined, "after all"]);
  });

  it("keeps its cookies separate and its encoding unchanged", async () => {
    const packed = gzipSync("packed");
    const received = await ask(
      httpResponse("200 OK", ["Set-Cookie: a=1", "Set-Cookie: b=2", "Content-Encoding: gzip"], packed),
    );
    expect(received.headers.filter(([name]) => name.toLowerCase() === "set-cookie")).toHaveLength(2);
    expect(received.body.equals(packed)).toBe(true);
  });

  it("loses its hop-by-hop headers", async () => {
    const received = await ask(
      httpResponse("200 OK", ["Keep-Alive: timeout=999", "Connection: X-A", "X-A: dropped", "X-B: kept"]),
    );
    expect(received.header("keep-alive")).toBeUndefined();
    expect(received.header("connection")).toBe("close");
    expect(received.header("x-a")).toBeUndefined();
    expect(received.header("x-b")).toBe("kept");
  });

  it("arrives whole, in chunks or until the connection closes", async () => {
    const chunked = await ask("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    expect(chunked.body.toString("latin1")).toContain("abc");
    await destination[Symbol.asyncDispose]();
    const closing = await ask((socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nuntil the end"));
    expect(closing.body.toString("latin1")).toContain("until the end");
  });

  it("cannot set the vault's own headers", async () => {
    const headers = ["BT-PROXY-DESTINATION-STATUS: 500", "bt-trace-id: theirs", "BT-Other: kept"];
    destination = await startDestination(httpResponse("200 OK", headers, "x"));
    const received = await rawCall([
      "GET /proxy HTTP/1.1",
      `BT-API-KEY: ${key}`,
      `BT-PROXY-URL: ${destination.url}`,
      "BT-TRACE-ID: ours",
    ]);
    const ours = received.headers.filter(([name]) => /^bt-/i.test(name));
    expect(Object.fromEntries(ours.map(([name, value]) => [name.toLowerCase(), value]))).toEqual({
      "bt-trace-id": "ours",
      "bt-proxy-destination-status": "200",
      "bt-other": "kept",
    });
    expect(ours).toHaveLength(3);
  });

  it("is not followed if it redirects to a metadata service", async () => {
    const received = await ask(httpResponse("302 Found", ["Location: http://169.254.169.254/latest/meta-data"]));
    expect([received.status, received.header("location")]).toEqual([302, "http://169.254.169.254/latest/meta-data"]);
    expect(destination.requests).toHaveLength(1);
  });

  it.each<[string, Reply]>([
    ["garbage", "these are no headers\r\n\r\n"],
    ["a reset before it responds", (socket) => void socket.resetAndDestroy()],
    ["an end before it responds", (socket) => void socket.end()],
    ["half of its headers", (socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-")],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
    ["an invalid status", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"],
    ["headers of 40 KB", `HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(40_000)}\r\n\r\n`],
    ["600 headers", `HTTP/1.1 200 OK\r\n${"X-A: b\r\n".repeat(600)}\r\n`],
  ])("is a 502 without its status if it is %s", async (_, reply) => {
    expect(await refusal(reply)).toEqual([502, "destination_unreachable", undefined]);
    expect(destination.requests).toHaveLength(1);
  });

  it("is a 502 if the destination never connects, also while a body is still being sent", async () => {
    destination = await startDestination();
    const { port } = destination;
    await destination[Symbol.asyncDispose]();
    const lines = [
      `BT-API-KEY: ${key}`,
      `BT-PROXY-URL: http://127.0.0.1:${port}`,
      "Content-Type: image/png",
      "Content-Length: 3000000",
    ];
    const { status, body, header } = await rawCall(["POST /proxy HTTP/1.1", ...lines], Buffer.alloc(3_000_000));
    expect([status, JSON.parse(body.toString()).proxy_error.code]).toEqual([502, "destination_unreachable"]);
    // The operator sees where it went and why it failed; the caller does not.
    expect(body.toString()).not.toMatch(/127\.0\.0\.1|ECONNREFUSED/);
    const line = JSON.parse(await logLineOf(new Headers({ "bt-trace-id": header("bt-trace-id") ?? "" })));
    expect(line).toMatchObject({
      ...{ msg: "failed", status: 502, code: "destination_unreachable" },
      ...{ cause: "connect_failed ECONNREFUSED", host: "127.0.0.1", port },
    });
    destination = await startDestination();
  });

  it("closes the caller's connection if it is shorter than its length, so it does not look complete", async () => {
    const received = await ask((socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
    expect(received.status).toBe(200);
    expect(received.body.length).toBeLessThan(10);
    const trace = received.header("bt-trace-id") ?? "";
    const broken = await vi.waitFor(() => {
      const lines = readFileSync(inject("serverLog"), "utf8").split("\n");
      const found = lines.find((line) => line.includes(trace) && line.includes("cut off"));
      return JSON.parse(found ?? "null") ?? Promise.reject(new Error("not in the log yet"));
    });
    expect(broken).toMatchObject({ cause: "connection_lost ECONNRESET", host: "127.0.0.1", port: destination.port });
  });

  it("does not corrupt another if it is longer than its length", async () => {
    const reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    const first = await ask(reply);
    const second = await rawCall(["GET /proxy HTTP/1.1", `BT-API-KEY: ${key}`, `BT-PROXY-URL: ${destination.url}`]);
    expect([first.body.toString(), second.body.toString()]).toEqual(["ok", "ok"]);
  });

  it("reaches the caller if it comes before the request is sent", async () => {
    const early = httpResponse("413 Too Large", ["Connection: close"], "too large");
    destination = await startDestination();
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(early));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const lines = [
      `BT-API-KEY: ${key}`,
      `BT-PROXY-URL: http://127.0.0.1:${port}`,
      "Content-Type: image/png",
      "Content-Length: 8000000",
    ];
    const received = await rawCall(["POST /proxy HTTP/1.1", ...lines], Buffer.alloc(8_000_000));
    expect([received.status, received.body.toString()]).toEqual([413, "too large"]);
    server.close();
  });

  it("is cancelled when its caller disconnects, before and during the response", async () => {
    for (const start of ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun"]) {
      destination = await startDestination(
        (socket: { write(text: string): unknown }) => void (start && socket.write(start)),
      );
      const { hostname, port } = new URL(inject("serverUrl"));
      const caller = connect(Number(port), hostname);
      caller.write(`GET /proxy HTTP/1.1\r\nHost: x\r\nBT-API-KEY: ${key}\r\nBT-PROXY-URL: ${destination.url}\r\n\r\n`);
      await vi.waitFor(() => expect(destination.requests).toHaveLength(1));
      if (start !== "") await once(caller, "data");
      caller.destroy();
      await vi.waitFor(() => expect(destination.open.size).toBe(0));
      if (start === "") await destination[Symbol.asyncDispose]();
    }
  });

  it("comes over HTTP/2 too, bodies included", async () => {
    destination = await startDestination((socket, request: RawRequest) => {
      socket.write(
        httpResponse(
          "200 Own Words",
          ["Connection: keep-alive", "Date: a", "Date: b", "Set-Cookie: a", "Set-Cookie: b"],
          request.body,
        ),
      );
    });
    const session = connectHttp2(inject("serverUrl"));
    const stream = session.request({
      ...{ ":method": "POST", ":path": "/proxy/two?x", "bt-api-key": key, "bt-proxy-url": destination.url },
      "content-type": "image/png",
    });
    stream.end("over two");
    const [headers] = await once(stream, "response");
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(Buffer.from(chunk));
    session.close();
    expect(Buffer.concat(chunks).toString()).toBe("over two");
    expect(headers).toMatchObject({ ":status": 200, [STATUS]: "200", "set-cookie": ["a", "b"] });
    expect(destination.last().line).toBe("POST /two?x HTTP/1.1");
    expect(destination.last().headers.map(([name]) => name)).toEqual([
      "Host",
      "content-type",
      "Transfer-Encoding",
      "Connection",
    ]);
  });

  it("comes over HTTP/2 too if it has a body where none is allowed", async () => {
    destination = await startDestination(httpResponse("205 Reset Content", ["X-Own: kept"], "too much"));
    const session = connectHttp2(inject("serverUrl"));
    const stream = session.request({ ":path": "/proxy", "bt-api-key": key, "bt-proxy-url": destination.url });
    const [headers] = await once(stream, "response");
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(Buffer.from(chunk));
    session.close();
    expect(headers).toMatchObject({ ":status": 205, "x-own": "kept" });
    expect(headers).not.toHaveProperty("content-length");
    expect([stream.rstCode, Buffer.concat(chunks).toString()]).toEqual([0, ""]);
  });

  it("without content states no length, whatever the destination wrote", async () => {
    destination = await startDestination("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
    const { key: changing } = await makeProxy(tenant, {
      destination_url: destination.url,
      response_transforms: [{ type: "code", ...code("return { headers: req.args.headers, body: req.args.body };") }],
    });
    for (const target of [`BT-PROXY-URL: ${destination.url}`, `BT-PROXY-KEY: ${changing}`]) {
      const received = await rawCall(["GET /proxy HTTP/1.1", `BT-API-KEY: ${key}`, target]);
      expect([received.status, received.header("content-length"), received.body.length]).toEqual([204, undefined, 0]);
    }
  });

  it("does not delay another caller if it is slow", async () => {
    await using slow = await startDestination(() => {});
    destination = await startDestination();
    const gone = new AbortController();
    const call = (url: string) =>
      fetch(`${inject("serverUrl")}/proxy`, {
        headers: { "BT-API-KEY": key, "BT-PROXY-URL": url },
        signal: gone.signal,
      });
    const waiting = Array.from({ length: 60 }, () => call(slow.url).catch(() => undefined));
    await vi.waitFor(() => expect(slow.opened).toBe(32));
    for (let n = 0; n < 5; n += 1) expect((await call(destination.url)).status).toBe(200);
    expect(slow.opened).toBe(32);
    gone.abort();
    await Promise.all(waiting);
    // Their connections close with them, except for a few new ones, which are kept for 4 s to be reused.
    await vi.waitFor(() => expect(slow.open.size).toBe(0));
  });

  it("comes over a reused connection", async () => {
    destination = await startDestination();
    for (let n = 0; n < 5; n += 1) {
      await rawCall(["GET /proxy HTTP/1.1", `BT-API-KEY: ${key}`, `BT-PROXY-URL: ${destination.url}`]);
    }
    expect([destination.requests.length, destination.opened]).toEqual([5, 1]);
  });
});
