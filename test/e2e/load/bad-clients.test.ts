// Computes: 15 s
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ServerCounters } from "../../support/counters.js";
import type { RestClient } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, startDestination } from "../proxy/support/destination.js";

const MEGABYTE = 1024 * 1024;
/** Memory that all of them together may add to the server. */
const MAX_GROWTH = 256 * MEGABYTE;

let server: ServerProcess;
let counters: ServerCounters;
let tenant: TestTenant;
let destination: Destination;
let client: RestClient & { readonly key: string };
/** A client that is not involved. */
let other: RestClient;
let id: string;
let port: number;
/** Memory for large bodies while no client is served, in bytes. */
let free: number;
const sockets: Socket[] = [];

const freeMemory = () => counters.metric("cloakroom_body_memory_free_bytes", 'size="large"');

beforeAll(async () => {
  server = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1" });
  counters = new ServerCounters(server);
  destination = await startDestination((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n");
    socket.write(Buffer.alloc(NEARLY_ALL));
  });
  other = await (await newTenant(server.url, server.environment)).backEnd();
  port = Number(new URL(server.url).port);
  free = await freeMemory();
});
// Each case is of a tenant of its own: one that has overloaded the server is refused for seconds.
beforeEach(async () => {
  tenant = await newTenant(server.url, server.environment);
  client = await tenant.backEnd();
  const data = "x".repeat(200_000);
  ({ id } = (await client("POST", "/tokens", { body: { type: "token", data } })).body);
});
// The share of the next client depends on what others still hold.
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await expect.poll(freeMemory).toBe(free);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await destination?.[Symbol.asyncDispose]();
});

function residentMemory(): number {
  const status = readFileSync(`/proc/${server.process.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

async function open(): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
}

async function openMany(count: number): Promise<Socket[]> {
  const opened: Socket[] = [];
  for (let from = 0; from < count; from += 100) {
    opened.push(...(await Promise.all(Array.from({ length: Math.min(100, count - from) }, open))));
  }
  return opened;
}

const request = () => `GET /tokens/${id} HTTP/1.1\r\nhost: x\r\nbt-api-key: ${client.key}\r\n\r\n`;

const isServed = async () => expect((await other("GET", "/tokens")).status).toBe(200);

/** Other clients are served, and the server's memory stays within its limit. */
async function isUnharmed(before: number): Promise<void> {
  await isServed();
  expect(residentMemory() - before).toBeLessThan(MAX_GROWTH);
}

/** Senders of one large, unfinished body each. */
const SENDERS = 60;
const NEARLY_ALL = 4_900_000;

/** Over HTTP/1.1. Resolves with the number of senders that were asked to retry later. */
async function sendOverRest(): Promise<number> {
  const head = `POST /tokens HTTP/1.1\r\nhost: x\r\nbt-api-key: ${client.key}\r\ncontent-type: application/json\r\ncontent-length: 5000000\r\n\r\n`;
  return sendAll(head, NEARLY_ALL);
}

/** Sends this much of a body after a request head. */
async function sendAll(head: string, bytes: number): Promise<number> {
  let refused = 0;
  for (const socket of await openMany(SENDERS)) {
    socket.on("data", (chunk: Buffer) => {
      if (/^HTTP\/1.1 503 .*\r\nretry-after: \d/is.test(chunk.toString("latin1"))) refused += 1;
    });
    socket.write(head);
    socket.write(Buffer.alloc(bytes, " "));
  }
  await untilTurnedAway(() => refused);
  return refused;
}

/** Waits until a good part of the senders are asked to retry later, or wait for their share of the memory. */
async function untilTurnedAway(refused: () => number): Promise<void> {
  const turnedAway = async () => refused() + (await counters.metric("cloakroom_bodies_waiting"));
  await expect.poll(turnedAway).toBeGreaterThan(SENDERS / 4);
}

/** To a proxy that does not exist. */
async function sendToProxy(method: string): Promise<number> {
  const headers = `bt-api-key: ${client.key}\r\nbt-proxy-url: https://destination.example.com`;
  const length = "content-type: application/json\r\ncontent-length: 5000000";
  return sendAll(`${method} /proxy HTTP/1.1\r\nhost: x\r\n${headers}\r\n${length}\r\n\r\n`, NEARLY_ALL);
}

/** To a proxy whose destination begins a response of that size and never ends it; a transform needs it all. */
async function askForLargeResponses(): Promise<number> {
  const transform = { code: "module.exports = async (req) => req;" };
  const definition = { name: "Large", destination_url: destination.url, response_transform: transform };
  const { body } = await tenant.manage("POST", "/proxies", { body: definition });
  const headers = `bt-api-key: ${client.key}\r\nbt-proxy-key: ${body.key}`;
  return sendAll(`GET /proxy HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`, 0);
}

/** Over HTTP/2. */
async function sendOverGrpc(headers: Readonly<Record<string, string>>): Promise<number> {
  const session = connectHttp2(server.url);
  session.on("error", () => {});
  let refused = 0;
  for (let sender = 0; sender < SENDERS; sender += 1) {
    const stream = session.request({
      ":method": "POST",
      ":path": "/cloakroom.v1.TokenService/CreateToken",
      "content-type": "application/grpc+proto",
      te: "trailers",
      "bt-api-key": client.key,
      ...headers,
    });
    const told = (head: Readonly<Record<string, unknown>>) => {
      if (head["grpc-status"] === "14") refused += 1;
    };
    stream
      .on("response", told)
      .on("trailers", told)
      .on("data", () => {})
      .on("error", () => {});
    const frame = Buffer.alloc(NEARLY_ALL);
    frame.writeUInt8(headers["grpc-encoding"] ? 1 : 0, 0);
    frame.writeUInt32BE(5_000_000, 1);
    stream.write(frame);
  }
  await untilTurnedAway(() => refused);
  session.destroy();
  return refused;
}

const closed = (socket: Socket) =>
  new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once("close", () => resolve())));

describe("the server serves others within its memory while clients", () => {
  it("are silent on 10,000 connections, or send headers a byte at a time on 200: they are disconnected", async () => {
    const before = residentMemory();
    const slow = await openMany(200);
    const head = `GET /tokens/${id} HTTP/1.1\r\nhost: x\r\n`;
    for (const socket of slow) {
      let sent = 0;
      const drip = setInterval(() => socket.write(head[sent++ % head.length] ?? "a"), 200);
      socket.once("close", () => clearInterval(drip));
    }
    const idle = await openMany(10_000);
    await isUnharmed(before);
    for (const socket of [...slow, ...idle]) socket.resume();
    await Promise.all([...slow, ...idle].map(closed));
  });

  it("send requests over HTTP/1.1 without ever reading a response", async () => {
    const before = residentMemory();
    for (const socket of await openMany(20)) socket.pause().write(request().repeat(90));
    for (let asked = 0; asked < 20; asked += 1) await isServed();
    await isUnharmed(before);
  });

  it("send a thousand requests before they read a response: they are disconnected", async () => {
    const before = residentMemory();
    const hasty = await openMany(20);
    for (const socket of hasty) socket.resume().write(request().repeat(1_000));
    await Promise.all(hasty.map(closed));
    await isUnharmed(before);
  });

  it("send requests on all HTTP/2 streams without ever reading a response", async () => {
    const before = residentMemory();
    const session = connectHttp2(server.url, { settings: { initialWindowSize: 0 } });
    session.on("error", () => {});
    for (let asked = 0; asked < 128; asked += 1) {
      const stream = session.request({ ":path": `/tokens/${id}`, "bt-api-key": client.key });
      stream.on("error", () => {});
      stream.end();
    }
    for (let asked = 0; asked < 20; asked += 1) await isServed();
    await isUnharmed(before);
    session.destroy();
  });

  it("reset their HTTP/2 streams as fast as they open them: their connection is closed", async () => {
    const before = residentMemory();
    const session = connectHttp2(server.url);
    const errors: string[] = [];
    session.on("error", (error) => errors.push(String(error)));
    let goneAway: number | undefined;
    session.on("goaway", (code) => (goneAway = code));
    const ended = new Promise((resolve) => session.once("close", resolve));
    while (!session.closed && !session.destroyed) {
      for (let opened = 0; opened < 100 && !session.destroyed && !session.closed; opened += 1) {
        const stream = session.request({ ":path": `/tokens/${id}`, "bt-api-key": client.key });
        stream.on("error", () => {});
        stream.close(constants.NGHTTP2_CANCEL);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await ended;
    expect(goneAway).toBeGreaterThan(0);
    await isUnharmed(before);
  });

  it.each<[string, () => Promise<number>]>([
    ["REST", sendOverRest],
    ["the proxy", () => sendToProxy("POST")],
    ["the proxy, by GET", () => sendToProxy("GET")],
    ["the proxy, from its destination", askForLargeResponses],
    ["gRPC", () => sendOverGrpc({})],
    ["gRPC, compressed", () => sendOverGrpc({ "grpc-encoding": "gzip" })],
  ])(
    "send large, unfinished bodies over %s: some fit into memory, and all others once they disconnect",
    async (_, send) => {
      const before = residentMemory();
      const refused = await send();
      expect(refused).toBeLessThan(SENDERS);
      await isUnharmed(before);
      for (const socket of sockets.splice(0)) socket.destroy();
      const body = { type: "token", data: "x".repeat(4_000_000) };
      await expect.poll(async () => (await client("POST", "/tokens", { body })).status).toBe(201);
    },
  );

  it.each([
    ["a header without end", `x: ${"a".repeat(64)}`, 2_000],
    ["thousands of headers", "x-some: thing", 20_000],
  ])("send %s over HTTP/1.1: they are rejected and disconnected", async (_, line, count) => {
    const before = residentMemory();
    const socket = await open();
    socket.setEncoding("utf8");
    let response = "";
    socket.on("data", (text: string) => (response += text));
    const separator = line.startsWith("x:") ? "" : "\r\n";
    socket.write(`GET / HTTP/1.1\r\nhost: x\r\n${`${line}${separator}`.repeat(count)}`);
    await closed(socket);
    // A client that is disconnected while it sends may never see the response.
    expect(["", "HTTP/1.1 431"]).toContain(response.slice(0, 12));
    await isUnharmed(before);
  });

  it("send headers beyond the limit over HTTP/2: the stream is rejected", async () => {
    const before = residentMemory();
    const session = connectHttp2(server.url);
    session.on("error", () => {});
    const flood = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`x-${n}`, "y".repeat(100)]));
    const outcome = await new Promise((resolve) => {
      const stream = session.request({ ":path": `/tokens/${id}`, "bt-api-key": client.key, ...flood });
      stream.on("response", (headers) => resolve(headers[":status"]));
      stream.on("error", () => resolve("refused"));
      stream.on("close", () => resolve("refused"));
    });
    expect(["refused", 431]).toContain(outcome);
    await isUnharmed(before);
    session.destroy();
  });
});
