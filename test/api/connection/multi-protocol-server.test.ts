import { once } from "node:events";
import { stat } from "node:fs";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { connect as connectSocket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { CONNECTION_LIMITS } from "../../../src/api/connection/connection-limits.js";
import {
  createMultiProtocolServer,
  type MultiProtocolServer,
} from "../../../src/api/connection/multi-protocol-server.js";
import { createAuthority } from "../../egress/certificates.js";

describe("a request over HTTP/2 whose client never finishes it", () => {
  let port: MultiProtocolServer;
  let session: ClientHttp2Session;
  afterEach(async () => {
    session.destroy();
    const closed = once(port.server, "close");
    port.server.close();
    port.destroy();
    await closed;
  });

  async function listen(
    listener: Parameters<typeof createMultiProtocolServer>[0],
    requestTimeout: number,
  ): Promise<void> {
    port = createMultiProtocolServer(
      listener,
      { ...CONNECTION_LIMITS, headersTimeout: 1_000, requestTimeout },
      undefined,
    );
    port.server.listen(0, "127.0.0.1");
    await once(port.server, "listening");
    session = connect(`http://127.0.0.1:${Object(port.server.address()).port}`);
  }

  /** Sends half of a request and returns what the client received once the server ended the stream. */
  function sendHalf(method: string, path: string) {
    const stream: ClientHttp2Stream = session.request({ ":method": method, ":path": path }, { endStream: false });
    const seen = { status: 0, body: "", trailer: "", error: "" };
    stream.setEncoding("utf8");
    stream.on("response", (headers) => (seen.status = Number(headers[":status"])));
    stream.on("data", (text: string) => (seen.body += text));
    stream.on("trailers", (trailers) => (seen.trailer = String(trailers["grpc-status"])));
    stream.on("error", (error) => (seen.error = error.message));
    stream.write("half of it");
    return { stream, ended: once(stream, "close").then(() => ({ ...seen, code: stream.rstCode })) };
  }

  it("gets its complete response and is then closed; its connection still serves other requests", async () => {
    const body = "x".repeat(300_000);
    await listen((request, response) => {
      request.pause();
      response.writeHead(200);
      response.addTrailers({ "grpc-status": "16" });
      response.end(request.method === "HEAD" ? undefined : body);
    }, CONNECTION_LIMITS.requestTimeout);
    const code = constants.NGHTTP2_NO_ERROR;
    expect(await sendHalf("POST", "/").ended).toEqual({ status: 200, body, trailer: "16", error: "", code });
    expect(await sendHalf("HEAD", "/").ended).toMatchObject({ status: 200, body: "", error: "", code });
    expect(session.closed).toBe(false);
  });

  it("is closed when it takes too long, unless it is being answered", async () => {
    await listen((request, response) => {
      if (request.url === "/answered") response.write("begun");
    }, 1_000);
    const begun = sendHalf("POST", "/answered");
    await once(begun.stream, "data");
    expect(await sendHalf("POST", "/silent").ended).toMatchObject({ status: 0, code: constants.NGHTTP2_CANCEL });
    expect(begun.stream.closed).toBe(false);
  });
});

it("a silent connection is closed under TLS as it is without", async () => {
  const { cert, key } = await (await createAuthority()).issue(["localhost"]);
  const certificate = { current: { cert: Buffer.from(cert), key: Buffer.from(key) }, onRenewal: () => {} };
  const port = createMultiProtocolServer(() => {}, { ...CONNECTION_LIMITS, headersTimeout: 500 }, certificate);
  port.server.listen(0, "127.0.0.1");
  await once(port.server, "listening");
  const silent = connectSocket(Object(port.server.address()).port, "127.0.0.1").on("error", () => {});
  await once(silent, "connect");
  const closed = once(port.server, "close");
  port.server.close();
  port.drain();
  await closed;
});

it("a request over HTTP/1.1 that takes too long gets problem details, and its connection is closed", async () => {
  const limits = { ...CONNECTION_LIMITS, headersTimeout: 500, requestTimeout: 500 };
  const port = createMultiProtocolServer(() => {}, limits, undefined);
  port.server.listen(0, "127.0.0.1");
  await once(port.server, "listening");
  const socket = connectSocket(Object(port.server.address()).port, "127.0.0.1").setEncoding("utf8");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  const closed = once(socket, "close");
  socket.write("POST /tokens HTTP/1.1\r\nHost: vault.example\r\nContent-Length: 10\r\n");
  await closed;
  const [head = "", body = ""] = text.split("\r\n\r\n");
  expect(head).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  expect(head.toLowerCase()).toContain("connection: close");
  expect(head).toContain("content-type: application/json");
  expect(JSON.parse(body)).toMatchObject({
    ...{ status: 408, code: "request_timeout", detail: "The request did not arrive in time." },
  });
  const ended = once(port.server, "close");
  port.server.close();
  port.destroy();
  await ended;
});

it("a request that arrives while the event loop is busy is answered, not reset, by a server that drains", async () => {
  const port = createMultiProtocolServer((_, response) => response.end("served"), CONNECTION_LIMITS, undefined);
  port.server.listen(0, "127.0.0.1");
  await once(port.server, "listening");
  const socket = connectSocket(Object(port.server.address()).port, "127.0.0.1");
  await Promise.all([once(socket, "connect"), once(port.server, "connection")]);
  const drained = port.drain();
  socket.write("GET / HTTP/1.1\r\nHost: vault\r\n\r\n");
  // Holds the thread for a second, in which the kernel takes the request.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  let text = "";
  for await (const chunk of socket) text += chunk;
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text).toContain("Connection: close");
  expect(text.endsWith("served") || text.includes("\r\nserved\r\n")).toBe(true);
  await drained;
});

/** Turns of the event loop from which a server may be asked to stop, as it is by a signal in a busy moment. */
const TURNS: readonly (readonly [string, (stop: () => void) => void])[] = [
  ["before anything is read", (stop) => process.nextTick(stop)],
  ["while the event loop reads", (stop) => stat(".", stop)],
  ["after it has read", (stop) => setImmediate(stop)],
];

it.each(TURNS)("200 connections that wait are answered, not reset, by a server that drains %s", async (_, at) => {
  const vault = createMultiProtocolServer((_request, response) => response.end("served"), CONNECTION_LIMITS, undefined);
  await expectAllAnswered(vault, at);
});

it("connections that wait are answered, not reset, however long the machine takes for each", async () => {
  const vault = createMultiProtocolServer((_request, response) => response.end("served"), CONNECTION_LIMITS, undefined);
  const clock = new Int32Array(new SharedArrayBuffer(4));
  vault.server.on("connection", () => Atomics.wait(clock, 0, 0, 15));
  await expectAllAnswered(vault, (stop) => setImmediate(stop));
});

async function expectAllAnswered(vault: MultiProtocolServer, at: (stop: () => void) => void): Promise<void> {
  vault.server.listen(0, "127.0.0.1");
  await once(vault.server, "listening");
  const { port } = Object(vault.server.address());
  const begun = Promise.withResolvers<{ readonly drained: Promise<void>; readonly texts: Promise<string[]> }>();
  at(() => {
    const sockets = Array.from({ length: 200 }, () => {
      const socket = connectSocket(port, "127.0.0.1");
      socket.write("GET / HTTP/1.1\r\nHost: vault\r\n\r\n");
      return socket;
    });
    // The kernel completes the handshakes; the event loop has not accepted the connections yet.
    process.nextTick(() => begun.resolve({ drained: vault.drain(), texts: Promise.all(sockets.map(text)) }));
  });
  const { drained, texts } = await begun.promise;
  for (const response of await texts) {
    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(response).toContain("served");
  }
  await drained;
  await expect(once(connectSocket(port, "127.0.0.1"), "connect")).rejects.toMatchObject({ code: "ECONNREFUSED" });
}

it("an idle connection is kept longer than its client expects", async () => {
  const port = createMultiProtocolServer(
    (_, response) => void response.end("served"),
    { ...CONNECTION_LIMITS, idleTimeout: 1_000, idleMargin: 60_000 },
    undefined,
  );
  port.server.listen(0, "127.0.0.1");
  await once(port.server, "listening");
  const socket = connectSocket(Object(port.server.address()).port, "127.0.0.1");
  const ask = async () => {
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const [answer = "the end"] = await Promise.race([once(socket, "data"), once(socket, "close")]);
    return String(answer);
  };
  expect(await ask()).toContain("Keep-Alive: timeout=1\r\n");
  // Node's own margin is a second.
  await setTimeout(3_000);
  expect(await ask()).toContain("served");
  port.destroy();
  port.server.close();
});
