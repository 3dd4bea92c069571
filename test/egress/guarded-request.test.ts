import { type Duplex, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { EgressError } from "../../src/egress/egress-error.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { createGuardedAgents, type GuardedAgents } from "../../src/egress/guarded-agents.js";
import { type GuardedRequest, guardedRequest } from "../../src/egress/guarded-request.js";
import type { HeaderPair } from "../../src/egress/request-framing.js";
import { closeServers, serveHttp, serveRaw, type TestServer } from "./servers.js";

const made: GuardedAgents[] = [];

afterEach(async () => {
  for (const agents of made.splice(0)) agents.close();
  await closeServers();
});

function send(server: TestServer, more: Partial<GuardedRequest> = {}) {
  const agents = createGuardedAgents(new EgressPolicy({ allow: "127.0.0.1" }));
  made.push(agents);
  const url = `http://127.0.0.1:${server.port}/`;
  return guardedRequest(agents, { url, method: "GET", headers: [], pool: "tenant", ...more });
}

/** The reason and the certainty of a promise's failure. */
async function failure(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    return error instanceof EgressError ? `${error.reason}, ${error.delivery}` : String(error);
  }
  return "no failure";
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
/** Waits for the end of a socket or body, broken or not. */
const closed = (stream: Duplex | Readable | undefined) =>
  new Promise<void>((resolve) => {
    if (stream === undefined) expect.unreachable();
    if (stream.closed) resolve();
    else stream.once("close", resolve);
  });
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe("what goes over the wire", () => {
  it("is the header list as given, KEEP-ALIVE and CONNECTION with any value included", async () => {
    const server = await serveRaw(ok);
    const headers: readonly HeaderPair[] = [
      ["x-First", "1"],
      ["KEEP-ALIVE", "timeout=5, max=1000; anything"],
      ["CONNECTION", "x-private, what-ever"],
      ["X-FIRST", "2"],
      ["accept", ""],
      ["x-latin", "caf\u00e9"],
    ];
    await send(server, { url: `http://127.0.0.1:${server.port}/a/b?c=d%20e&c=f`, method: "GET", headers });
    expect(server.received()).toBe(
      `GET /a/b?c=d%20e&c=f HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nx-First: 1\r\n` +
        "KEEP-ALIVE: timeout=5, max=1000; anything\r\nCONNECTION: x-private, what-ever\r\n" +
        "X-FIRST: 2\r\naccept: \r\nx-latin: caf\u00e9\r\n\r\n",
    );
  });

  it("gets its own Connection header only if the list has none", async () => {
    const server = await serveRaw(ok);
    await send(server, { headers: [["Keep-Alive", "timeout=9"]] });
    expect(server.received()).toBe(
      `GET / HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nKeep-Alive: timeout=9\r\nConnection: keep-alive\r\n\r\n`,
    );
  });

  it.each(["close", "CLOSE", "keep-alive", "upgrade", "", "timeout"])("keeps CONNECTION: %s", async (value) => {
    const server = await serveRaw(ok);
    await send(server, { headers: [["CONNECTION", value]] });
    expect(server.received()).toContain(`\r\nCONNECTION: ${value}\r\n\r\n`);
    expect(server.received().match(/connection:/gi)?.length).toBe(1);
  });

  it.each(["POST", "PUT", "PATCH", "DELETE", "GET", "PROPFIND"])(
    "carries a body with its length on %s",
    async (method) => {
      const server = await serveRaw(ok);
      await send(server, { method, headers: [["Content-Type", "text/plain"]], body: Buffer.from("héllo") });
      const expected = `Content-Type: text/plain\r\nContent-Length: 6\r\nConnection: keep-alive\r\n\r\nhéllo`;
      expect(server.received()).toBe(
        `${method} / HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n${Buffer.from(expected).toString("latin1")}`,
      );
    },
  );

  it("is a stream in chunks, or with the length it promises", async () => {
    const server = await serveHttp(async (request, response) => {
      const framing = request.headers["transfer-encoding"] ?? request.headers["content-length"];
      response.end(`${framing}: ${await text(request)}`);
    });
    const parts = () => Readable.from([Buffer.from("abc"), Buffer.from("def")]);
    const chunked = await send(server, { method: "POST", body: parts() });
    expect(await text(chunked.body)).toBe("chunked: abcdef");
    const counted = await send(server, { method: "DELETE", headers: [["Content-Length", "6"]], body: parts() });
    expect(await text(counted.body)).toBe("6: abcdef");
  });

  it("is one request and no more, whatever a tenant writes into the list", async () => {
    const requests: string[] = [];
    const server = await serveHttp((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      request.resume().once("end", () => response.end());
    });
    const name = fc.constantFrom("Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Host", "X", "X\r\nY");
    const value = fc.constantFrom(
      "0",
      "4",
      "chunked",
      "identity",
      "close",
      "a\r\n\r\nGET /smuggled HTTP/1.1",
      "a\nB: c",
    );
    const body = Buffer.from("0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 4 }), async (headers) => {
        const before = requests.length;
        const outcome = await failure(send(server, { method: "POST", headers, body }));
        expect(["no failure", "invalid_request, not_sent"]).toContain(outcome);
        expect(requests.slice(before)).toEqual(outcome === "no failure" ? ["POST /"] : []);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ["a line break in a value", { headers: [["A", "b\r\nC: d"]] as const }],
    ["a zero byte in a value", { headers: [["A", "b\0"]] as const }],
    ["a value beyond Latin-1", { headers: [["A", "\u20ac"]] as const }],
    ["a name that is not a token", { headers: [["A B", "c"]] as const }],
    ["an empty name", { headers: [["", "c"]] as const }],
    ["a method that is not a token", { method: "GET /" }],
    ["CONNECT", { method: "connect" }],
  ])("is nothing at all with %s", async (_, more) => {
    const server = await serveRaw(ok);
    const body = Readable.from(["x"]);
    expect(await failure(send(server, { ...more, body }))).toBe("invalid_request, not_sent");
    expect(server.connections).toEqual([]);
    expect(body.destroyed).toBe(true);
  });
});

describe("a response", () => {
  it("has its status, its text and its headers as they were written", async () => {
    const server = await serveRaw(
      "HTTP/1.1 207 Quite All Right\r\nX-b: 1\r\nset-Cookie: a\r\nSet-Cookie: b\r\nCONTENT-LENGTH: 5\r\nx-caf\u00e9: \u00e9\r\n\r\nhello".replace(
        "x-caf\u00e9",
        "x-c",
      ),
    );
    const response = await send(server);
    expect(response).toMatchObject({
      status: 207,
      statusText: "Quite All Right",
      rawHeaders: [
        ["X-b", "1"],
        ["set-Cookie", "a"],
        ["Set-Cookie", "b"],
        ["CONTENT-LENGTH", "5"],
        ["x-c", "\u00e9"],
      ],
    });
    expect(await text(response.body)).toBe("hello");
  });

  it.each([301, 302, 303, 307, 308])("is returned, not followed, if it redirects (%i)", async (status) => {
    const target = await serveRaw(ok);
    const server = await serveHttp((_, response) => {
      response
        .writeHead(status, {
          location: "http://169.254.169.254/latest/meta-data/",
          refresh: `0; url=http://127.0.0.1:${target.port}/`,
        })
        .end("moved");
    });
    const response = await send(server);
    expect(response.status).toBe(status);
    expect(response.rawHeaders).toContainEqual(["location", "http://169.254.169.254/latest/meta-data/"]);
    expect(await text(response.body)).toBe("moved");
    expect(target.connections).toEqual([]);
  });

  it("keeps every byte of its body, compressed or not", async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 31) % 256));
    const server = await serveHttp((_, response) => {
      response.setHeader("Content-Encoding", "gzip").end(bytes);
    });
    const { body } = await send(server);
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  });

  it("may follow interim responses, and may have no body", async () => {
    const early = await serveRaw(`HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${ok}`);
    expect(await send(early)).toMatchObject({ status: 200 });
    const head = await serveRaw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    expect(await text((await send(head, { method: "HEAD" })).body)).toBe("");
    const none = await serveRaw("HTTP/1.1 204 No Content\r\n\r\n");
    expect(await text((await send(none)).body)).toBe("");
  });

  it("may come before the request's body is complete", async () => {
    const server = await serveRaw(
      "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig",
    );
    const endless = new Readable({ read() {} });
    endless.push("start");
    const response = await send(server, { method: "POST", body: endless });
    expect([response.status, await text(response.body)]).toEqual([413, "big"]);
    response.body.destroy();
    await closed(server.connections[0]);
  });

  it.each([
    ["with 501 headers", `HTTP/1.1 200 OK\r\n${"A: b\r\n".repeat(501)}\r\n`, "response_headers_too_large, unknown"],
    [
      "with 33 KB of headers",
      `HTTP/1.1 200 OK\r\nA: ${"b".repeat(33_000)}\r\n\r\n`,
      "response_headers_too_large, unknown",
    ],
    ["that is not HTTP", "220 mail.example ESMTP\r\n", "malformed_response, unknown"],
    [
      "with two lengths",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "malformed_response, unknown",
    ],
    [
      "with length and chunks",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "malformed_response, unknown",
    ],
    [
      "that switches protocols",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
      "connection_lost, unknown",
    ],
  ])("%s is an error", async (_, reply, expected) => {
    const server = await serveRaw(reply);
    expect(await failure(send(server))).toBe(expected);
    await closed(server.connections[0]);
  });

  it("with 500 headers and less than 32 KB of them is accepted", async () => {
    const server = await serveRaw(`HTTP/1.1 200 OK\r\n${"A: b\r\n".repeat(499)}Content-Length: 0\r\n\r\n`);
    expect((await send(server)).rawHeaders.length).toBe(500);
  });

  it("fails within its body if it breaks off there", async () => {
    const server = await serveRaw((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")),
    );
    const { body } = await send(server);
    expect(await failure(text(body))).toBe("connection_lost, unknown");
  });

  it("fails for a late reader if it breaks off, and affects nothing else without one", async () => {
    const server = await serveRaw((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")),
    );
    const { body } = await send(server);
    await closed(body);
    expect(await failure(text(body))).toBe("connection_lost, unknown");
  });

  it("larger than the limit is cut off", async () => {
    const server = await serveHttp((_, response) => response.end("x".repeat(100_000)));
    const fits = await send(server, { maxBodyBytes: 100_000 });
    expect((await text(fits.body)).length).toBe(100_000);
    const exceeds = await send(server, { maxBodyBytes: 99_999 });
    expect(await failure(text(exceeds.body))).toBe("body_too_large, unknown");
  });
});

describe("time", () => {
  it("runs out when no response comes, and the connection is closed", async () => {
    const server = await serveRaw(() => {});
    expect(await failure(send(server, { timeouts: { headersMs: 100 } }))).toBe("headers_timeout, unknown");
    await closed(server.connections[0]);
  });

  it("is 25 s by default, to the headers and between two bytes of the body", async () => {
    const server = await serveHttp((_, response) => response.end("x"));
    const timers = vi.spyOn(globalThis, "setTimeout");
    const { body } = await send(server, {});
    await text(body);
    const delays = timers.mock.calls.map(([, ms]) => ms);
    timers.mockRestore();
    expect(delays.filter((ms) => ms === 25_000)).toHaveLength(2);
  });

  it("runs out also if headers trickle in", async () => {
    const server = await serveRaw((socket) => {
      const trickle = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 20);
      socket.once("close", () => clearInterval(trickle));
    });
    expect(await failure(send(server, { timeouts: { headersMs: 150 } }))).toBe("headers_timeout, unknown");
  });

  it("runs out when the body stops", async () => {
    const server = await serveHttp((_, response) => response.write("start"));
    const { body } = await send(server, { timeouts: { bodyIdleMs: 100 } });
    expect(await failure(text(body))).toBe("body_timeout, unknown");
    await closed(server.connections[0]);
  });

  it("does not run out while the body continues", async () => {
    const server = await serveHttp(async (_, response) => {
      for (let part = 0; part < 6; part++) {
        response.write("x");
        await pause(250);
      }
      response.end();
    });
    const { body } = await send(server, { timeouts: { bodyIdleMs: 1_000 } });
    expect(await text(body)).toBe("xxxxxx");
  });

  it("runs out for a large body that is never read", async () => {
    const server = await serveHttp((_, response) => response.end(Buffer.alloc(5_000_000)));
    const { body } = await send(server, { timeouts: { bodyIdleMs: 100 } });
    await closed(body);
    expect(await failure(text(body))).toBe("body_timeout, unknown");
    await closed(server.connections[0]);
  });
});

describe("a cancelled call", () => {
  it("sends nothing if it had not begun", async () => {
    const server = await serveRaw(ok);
    expect(await failure(send(server, { signal: AbortSignal.abort() }))).toBe("aborted, not_sent");
    expect(server.connections).toEqual([]);
  });

  it("closes the connection while it waits", async () => {
    const server = await serveRaw(() => {});
    const controller = new AbortController();
    const attempt = failure(send(server, { signal: controller.signal }));
    while (server.received() === "") await pause(5);
    controller.abort();
    expect(await attempt).toBe("aborted, unknown");
    await closed(server.connections[0]);
  });

  it("ends the body and closes the connection within the body", async () => {
    const server = await serveHttp((_, response) => response.write("start"));
    const controller = new AbortController();
    const { body } = await send(server, { signal: controller.signal });
    const reading = failure(text(body));
    controller.abort();
    expect(await reading).toBe("aborted, unknown");
    await closed(server.connections[0]);
  });

  it("closes the connection if the body is dropped", async () => {
    const server = await serveHttp((_, response) => response.write("start"));
    const { body } = await send(server);
    body.destroy();
    await closed(server.connections[0]);
    expect(body.destroyed).toBe(true);
  });

  it("leaves no listener on a long-lived signal", async () => {
    const server = await serveHttp((_, response) => response.end("x"));
    const { signal } = new AbortController();
    let listening = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listening++;
      add(...given);
    };
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listening--;
      remove(...given);
    };
    const response = await send(server, { signal });
    expect(listening).toBe(1);
    await text(response.body);
    await closed(response.body);
    expect(listening).toBe(0);
  });
});

describe("a body that is still being sent when its response is complete", () => {
  it.each([
    ["of a promised length", [["Content-Length", "2000001"]] as const],
    ["in chunks", []],
  ])("arrives whole, %s", async (_, headers) => {
    const server = await serveRaw((socket) => {
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly"));
    });
    const body = new Readable({ read() {} });
    body.push("y");
    const response = await send(server, { method: "POST", headers, body });
    expect(await text(response.body)).toBe("early");
    await pause(10);
    for (let piece = 0; piece < 20; piece++) body.push(Buffer.alloc(100_000, "y"));
    body.push(null);
    const arrived = () => server.received().length;
    await expect.poll(arrived).toBeGreaterThan(2_000_000);
    expect(server.connections.length).toBe(1);
  });
});

describe("whether the request was sent", () => {
  it("is certain if no connection was opened", async () => {
    const server = await serveRaw(ok);
    await server.close();
    const attempt = send(server, { method: "POST", body: Buffer.from("x") });
    expect(await failure(attempt)).toBe("connect_failed, not_sent");
    await expect(attempt).rejects.toMatchObject({ systemCode: "ECONNREFUSED" });
  });

  it("is unknown once the connection accepted it", async () => {
    const server = await serveRaw((socket) => socket.once("data", () => socket.destroy()));
    expect(await failure(send(server, { method: "POST", body: Buffer.from("x") }))).toBe("connection_lost, unknown");
    expect(server.received()).toContain("POST / HTTP/1.1");
  });

  it("is unknown if a kept connection breaks under the second request, which is not sent again", async () => {
    const requests: string[] = [];
    const server = await serveHttp((request, response) => {
      requests.push(request.url ?? "");
      if (request.url === "/second") request.socket.destroy();
      else response.end("ok");
    });
    const agents = createGuardedAgents(new EgressPolicy({ allow: "127.0.0.1" }));
    made.push(agents);
    const request = (path: string) =>
      guardedRequest(agents, { url: `http://127.0.0.1:${server.port}${path}`, method: "GET", headers: [], pool: "t" });
    expect(await text((await request("/first")).body)).toBe("ok");
    expect(await failure(request("/second"))).toBe("connection_lost, unknown");
    expect(requests).toEqual(["/first", "/second"]);
    expect(server.connections.length).toBe(1);
  });

  it("is unknown if the caller's body breaks off", async () => {
    const server = await serveRaw(() => {});
    const body = new Readable({ read() {} });
    body.push("start");
    const attempt = failure(send(server, { method: "POST", body }));
    while (!server.received().includes("start")) await pause(5);
    body.destroy(new Error("the client went away"));
    expect(await attempt).toBe("request_body_failed, unknown");
    await closed(server.connections[0]);
  });

  it.each([
    ["longer", "2"],
    ["shorter", "9"],
  ])("is unknown if the body is %s than it promised", async (_, length) => {
    const server = await serveRaw(() => {});
    const body = Readable.from([Buffer.from("abc")]);
    const attempt = send(server, { method: "POST", headers: [["Content-Length", length]], body });
    expect(await failure(attempt)).toMatch(/^request_body_failed, /);
    expect(server.received()).not.toContain("abcabc");
  });
});
