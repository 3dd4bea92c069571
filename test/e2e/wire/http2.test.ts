import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  anyFrame,
  continuationFrame,
  dataFrame,
  END_HEADERS,
  END_STREAM,
  emptyDataFrame,
  framesIn,
  GOAWAY,
  headerBlock,
  headerBlockFrame,
  indexed,
  indexedLiteral,
  PREFACE,
  pingFrame,
  priorityFrame,
  RST_STREAM,
  resetFrame,
  settingsFrame,
  windowUpdateFrame,
} from "../../support/http2-frames.js";
import type { RestClient } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, newTenant } from "../../support/tenant.js";
import { startDestination } from "../proxy/support/destination.js";

const MEGABYTE = 1024 * 1024;
/** Memory that one flood may add to the server. */
const MAX_GROWTH = 96 * MEGABYTE;
/** Seconds of processor time that one flood may take, including its probes. */
const MAX_SECONDS = 10;
/** Frames of a flood, or streams. */
const MANY = 20_000;

let server: ServerProcess;
let key: string;
/** A client that is not involved. */
let other: RestClient;

beforeAll(async () => {
  server = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1" });
  ({ key } = await (await firstTenant(server)).backEnd());
  other = await (await newTenant(server.url, { ...server.environment })).backEnd();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const REQUEST = headerBlock([
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/healthz"],
  [":authority", "vault.example"],
]);
const OPEN_POST = headerBlock([
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/tokens"],
  [":authority", "vault.example"],
]);
const streamAt = (index: number) => 2 * index + 1;

function residentMemory(): number {
  const status = readFileSync(`/proc/${server.process.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

/** User and system time, in the kernel's hundredths of a second. */
function processorSeconds(): number {
  const [, stat = ""] = readFileSync(`/proc/${server.process.pid}/stat`, "utf8").split(") ");
  const fields = stat.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** A connection that writes frames as no client library would. */
class RawSession {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  isClosed = false;

  constructor(reads: boolean) {
    this.#socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    this.#socket.on("error", () => {});
    this.#socket.once("close", () => {
      this.isClosed = true;
    });
    if (reads) {
      this.#socket.on("data", (chunk: Buffer) => {
        // The last frames show how it ended.
        this.#received = Buffer.concat([this.#received, chunk]);
      });
    }
    this.#socket.write(PREFACE);
  }

  /** Writes as fast as the server reads, and stops when it no longer does. */
  async write(bytes: Buffer): Promise<void> {
    if (this.isClosed || this.#socket.write(bytes)) return;
    const gone = new AbortController();
    await Promise.race([
      once(this.#socket, "drain", { signal: gone.signal }),
      once(this.#socket, "close", { signal: gone.signal }),
      pause(2_000, undefined, { signal: gone.signal }),
    ]).catch(() => {});
    gone.abort();
  }

  frames() {
    return framesIn(this.#received);
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

interface Flood {
  readonly frames: () => Iterable<Buffer>;
  /** Whether the client reads responses. */
  readonly reads?: boolean;
}

/** Floods the server while another client requests tokens, and returns the session's state afterwards. */
async function flood({ frames, reads = true }: Flood): Promise<RawSession> {
  const before = { memory: residentMemory(), seconds: processorSeconds() };
  const isOver = new AbortController();
  const probes = probe(isOver.signal);
  const session = new RawSession(reads);
  let sent = 0;
  for (const bytes of frames()) {
    if (session.isClosed) break;
    await session.write(bytes);
    sent += 1;
    if (sent % 200 === 0) await pause(0);
  }
  await pause(200);
  isOver.abort();
  const statuses = await probes;
  expect(statuses.length).toBeGreaterThan(0);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(residentMemory() - before.memory).toBeLessThan(MAX_GROWTH);
  expect(processorSeconds() - before.seconds).toBeLessThan(MAX_SECONDS);
  return session;
}

async function probe(end: AbortSignal): Promise<number[]> {
  const statuses: number[] = [];
  do {
    statuses.push((await other("GET", "/tokens")).status);
    await pause(10);
  } while (!end.aborted);
  return statuses;
}

function* times(make: (index: number) => Buffer, count = MANY): Generator<Buffer> {
  for (let index = 0; index < count; index += 1) yield make(index);
}

/** Closed by the server, with GOAWAY if that was still read. */
async function isEnded(session: RawSession): Promise<void> {
  await expect.poll(() => session.isClosed).toBe(true);
}

describe("others are served, within the server's memory, during an HTTP/2 flood of", () => {
  it("streams that are reset at once: the connection is closed", async () => {
    const resets = (index: number) =>
      Buffer.concat([headerBlockFrame(streamAt(index), REQUEST), resetFrame(streamAt(index), 8)]);
    await isEnded(await flood({ frames: () => times(resets) }));
  });

  it("streams that are reset at once, by a client that reads nothing", async () => {
    const resets = (index: number) =>
      Buffer.concat([headerBlockFrame(streamAt(index), REQUEST), resetFrame(streamAt(index), 8)]);
    (await flood({ frames: () => times(resets), reads: false })).destroy();
  });

  it.each([
    ["full", headerBlock([["x-a", "y".repeat(1_000)]])],
    ["empty", Buffer.alloc(0)],
  ])("endless header blocks in %s CONTINUATION frames: the connection is closed", async (_, block) => {
    function* frames() {
      yield headerBlockFrame(1, REQUEST, END_STREAM);
      yield* times(() => continuationFrame(1, block));
    }
    await isEnded(await flood({ frames }));
  });

  it.each([
    ["SETTINGS", (index: number) => settingsFrame({ 4: 65_535 + index }), true],
    ["SETTINGS whose responses are never read", (index: number) => settingsFrame({ 4: 65_535 + index }), false],
    ["header tables made larger and smaller", (index: number) => settingsFrame({ 1: index % 2 ? 4_096 : 0 }), true],
    ["PING", () => pingFrame(), true],
    ["PING whose responses are never read", () => pingFrame(), false],
    ["PRIORITY", (index: number) => priorityFrame(streamAt(index), 0), true],
    ["WINDOW_UPDATE", () => windowUpdateFrame(0, 1), true],
  ])("%s", async (_, make, reads) => {
    (await flood({ frames: () => times(make), reads })).destroy();
  });

  it("DATA without data", async () => {
    function* frames() {
      yield headerBlockFrame(1, OPEN_POST, END_HEADERS);
      yield* times(() => emptyDataFrame(1));
    }
    (await flood({ frames })).destroy();
  });

  it("headers that decompress to 55 MB each: their streams are rejected", async () => {
    const bomb = Buffer.concat(Array.from({ length: 14_000 }, () => indexed(62)));
    function* frames() {
      yield headerBlockFrame(1, Buffer.concat([REQUEST, indexedLiteral("x-big", "y".repeat(3_900))]));
      yield* times((index) => headerBlockFrame(streamAt(index + 1), Buffer.concat([REQUEST, bomb])), 200);
    }
    const session = await flood({ frames });
    await expect
      .poll(() => session.isClosed || session.frames().filter(({ type }) => type === RST_STREAM).length)
      .toSatisfy((ended) => ended === true || ended === 200);
    session.destroy();
  });

  it("streams beyond the limit, whose responses have no window", async () => {
    const large = headerBlock([
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/openapi.json"],
      [":authority", "vault.example"],
    ]);
    function* frames() {
      yield settingsFrame({ 4: 0 });
      yield* times((index) => headerBlockFrame(streamAt(index), large), 1_000);
    }
    (await flood({ frames })).destroy();
  });

  it("messages that decompress to a gigabyte: each is rejected as too large", async () => {
    // Members of a gzip file can be concatenated: each of these is a thousandth of its decompressed size.
    const member = gzipSync(Buffer.alloc(16 * MEGABYTE), { level: 9 });
    const packed = Buffer.concat(Array.from({ length: 64 }, () => member));
    const before = residentMemory();
    const isOver = new AbortController();
    const probes = probe(isOver.signal);
    const session = connectHttp2(server.url);
    const refused = await Promise.all(Array.from({ length: 8 }, () => sendPacked(session, packed)));
    session.destroy();
    isOver.abort();
    expect(new Set(refused)).toEqual(new Set(["8"]));
    expect(new Set(await probes)).toEqual(new Set([200]));
    expect(residentMemory() - before).toBeLessThan(MAX_GROWTH + 128 * MEGABYTE);
  });
});

/** Sends a compressed message, and returns the status of the call. */
async function sendPacked(session: ReturnType<typeof connectHttp2>, packed: Buffer): Promise<string> {
  const stream = session.request({
    ":method": "POST",
    ":path": "/cloakroom.v1.TokenService/CreateToken",
    ...{ "content-type": "application/grpc+proto", te: "trailers", "grpc-encoding": "gzip", "bt-api-key": key },
  });
  const ended = Promise.withResolvers<string>();
  const look = (headers: Readonly<Record<string, unknown>>) => {
    if (headers["grpc-status"] !== undefined) ended.resolve(String(headers["grpc-status"]));
  };
  stream
    .on("response", look)
    .on("trailers", look)
    .on("error", () => {})
    .resume();
  stream.once("close", () => ended.resolve("closed"));
  stream.end(encodeEnvelope(1, packed));
  return ended.promise;
}

describe("over HTTP/2", () => {
  const block = (...headers: (readonly [string, string])[]) => Buffer.concat([REQUEST, headerBlock(headers)]);
  const without = (name: string) =>
    headerBlock(
      (
        [
          [":method", "GET"],
          [":scheme", "http"],
          [":path", "/healthz"],
          [":authority", "vault.example"],
        ] as const
      ).filter(([header]) => header !== name),
    );

  it.each<[what: string, frames: readonly Buffer[]]>([
    // RFC 9113, 8.2 and 8.3: malformed requests
    ["a header of one connection", [headerBlockFrame(1, block(["connection", "close"]))]],
    ["a transfer coding", [headerBlockFrame(1, block(["transfer-encoding", "chunked"]))]],
    ["a TE that is not trailers", [headerBlockFrame(1, block(["te", "chunked"]))]],
    ["a name in upper case", [headerBlockFrame(1, block(["X-Upper", "a"]))]],
    ["a pseudo-header twice", [headerBlockFrame(1, block([":path", "/tokens"]))]],
    ["a pseudo-header after regular fields", [headerBlockFrame(1, block(["x-a", "b"], [":path", "/tokens"]))]],
    ["an invalid pseudo-header", [headerBlockFrame(1, block([":own", "b"]))]],
    ["no method", [headerBlockFrame(1, without(":method"))]],
    ["no path", [headerBlockFrame(1, without(":path"))]],
    ["no scheme", [headerBlockFrame(1, without(":scheme"))]],
    ["an empty path", [headerBlockFrame(1, Buffer.concat([without(":path"), headerBlock([[":path", ""]])]))]],
    ["a blank in the path", [headerBlockFrame(1, Buffer.concat([without(":path"), headerBlock([[":path", "/a b"]])]))]],
    [
      "less than its length",
      [headerBlockFrame(1, block(["content-length", "5"]), END_HEADERS), dataFrame(1, "abc", true)],
    ],
    [
      "more than its length",
      [headerBlockFrame(1, block(["content-length", "1"]), END_HEADERS), dataFrame(1, "abc", true)],
    ],
    ["two lengths", [headerBlockFrame(1, block(["content-length", "1"], ["content-length", "2"]))]],
    // 5 and 6: frames where they are not allowed
    ["a stream with an even number", [headerBlockFrame(2, REQUEST)]],
    ["headers of stream 0", [headerBlockFrame(0, REQUEST)]],
    ["data of a stream that is idle", [dataFrame(5, "abc", true)]],
    ["a reset of a stream that is idle", [resetFrame(5, 8)]],
    ["a frame between a header block and its end", [headerBlockFrame(1, REQUEST, END_STREAM), pingFrame()]],
    ["a continuation of nothing", [continuationFrame(1, REQUEST, END_HEADERS)]],
    ["a window of more than 2^31-1", [windowUpdateFrame(0, 2 ** 31 - 1)]],
    ["a window that grows by nothing", [windowUpdateFrame(0, 0)]],
    ["settings of a wrong length", [anyFrame(4, 0, 0, Buffer.alloc(5))]],
    ["an initial window beyond its range", [settingsFrame({ 4: 2 ** 31 })]],
    ["a ping of a wrong length", [anyFrame(6, 0, 0, Buffer.alloc(7))]],
    ["a frame larger than agreed", [anyFrame(0, 0, 1, Buffer.alloc(20_000))]],
    ["a promise from a client", [anyFrame(5, 4, 1, Buffer.concat([Buffer.from([0, 0, 0, 2]), REQUEST]))]],
    ["an index of the header table that is empty", [headerBlockFrame(1, Buffer.concat([REQUEST, indexed(100)]))]],
  ])("%s ends its stream or connection, and is not served", async (_, frames) => {
    const session = new RawSession(true);
    for (const bytes of frames) await session.write(bytes);
    const ending = () => session.frames().some(({ type }) => type === RST_STREAM || type === GOAWAY);
    await expect.poll(() => session.isClosed || ending()).toBe(true);
    // No response: neither headers nor data.
    expect(session.frames().filter(({ type, stream }) => type <= 1 && stream > 0)).toEqual([]);
    session.destroy();
  });

  it.each(["b\r\nx-injected: 1", "b\nx-injected: 1", "b\0c"])(
    "a header whose value is %j goes nowhere",
    async (value) => {
      await using destination = await startDestination();
      const session = new RawSession(true);
      const headers = headerBlock([
        [":method", "GET"],
        [":scheme", "http"],
        [":path", "/proxy/x"],
        [":authority", "vault.example"],
        ["bt-api-key", key],
        ["bt-proxy-url", destination.url],
        ["x-before", "1"],
        ["x-bad", value],
        ["x-after", "2"],
      ]);
      await session.write(headerBlockFrame(1, headers));
      await expect.poll(() => session.isClosed || session.frames().some(({ stream }) => stream === 1)).toBe(true);
      session.destroy();
      const names = destination.requests.flatMap((request) => request.headers.map(([name]) => name.toLowerCase()));
      expect(names).not.toContain("x-bad");
      expect(names).not.toContain("x-injected");
    },
  );

  it.each<[what: string, headers: Record<string, string | string[]>, status: number]>([
    ["a Host next to another :authority", { ":authority": "vault.example", host: "other.example" }, 400],
    ["a Host next to the same :authority", { ":authority": "vault.example", host: "VAULT.example" }, 200],
    ["a Host alone", { host: "vault.example" }, 200],
  ])("%s is read in one way only", async (_, headers, status) => {
    const session = connectHttp2(server.url);
    const stream = session.request({ ":path": "/healthz", ...headers });
    const [response] = await once(stream, "response");
    session.destroy();
    expect(response[":status"]).toBe(status);
  });

  it.each<[what: string, headers: Record<string, string>]>([
    ["a large header", { "x-large": "a".repeat(40_000) }],
    ["many headers", Object.fromEntries(Array.from({ length: 230 }, (_, at) => [`x-h${at}`, "v"]))],
  ])("a request with %s gets 431, and others of its connection are served", async (_, headers) => {
    const session = connectHttp2(server.url);
    await once(session, "remoteSettings");
    // The server enforces its settings once they are confirmed.
    await once(session.request({ ":path": "/healthz" }).resume(), "close");
    const refused = session.request({ ":path": "/permissions", ...headers });
    const [response] = await once(refused, "response");
    const { code, detail } = JSON.parse(await text(refused));
    const next = session.request({ ":path": "/healthz" });
    const [served] = await once(next, "response");
    session.destroy();
    expect([response[":status"], code, detail]).toEqual([
      431,
      "headers_too_large",
      "Address and headers must not be larger than 32768 bytes together, in at most 200 headers.",
    ]);
    expect(served[":status"]).toBe(200);
  });

  it("a call over gRPC with large metadata is RESOURCE_EXHAUSTED", async () => {
    const session = connectHttp2(server.url);
    const call = session.request({
      ...{ ":path": "/cloakroom.v1.TokenService/GetToken", ":method": "POST" },
      ...{ "content-type": "application/grpc", te: "trailers", "x-large": "a".repeat(40_000) },
    });
    const trailers = once(call, "trailers");
    const [response] = await once(call, "response");
    call.resume();
    const status = response["grpc-status"] ?? (await trailers)[0]["grpc-status"];
    session.destroy();
    expect([response[":status"], status]).toEqual([200, "8"]);
  });

  it("a stream with larger headers is reset", async () => {
    const session = connectHttp2(server.url);
    const headers = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x-h${at}`, "v"]));
    const [error] = await once(session.request({ ":path": "/healthz", ...headers }), "error");
    session.destroy();
    expect(String(error)).toContain("NGHTTP2_ENHANCE_YOUR_CALM");
  });
});
