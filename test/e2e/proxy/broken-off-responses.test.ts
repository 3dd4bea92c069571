import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { newTenant } from "../../support/tenant.js";
import { type Destination, type Reply, startDestination } from "./support/destination.js";
import { rawCall } from "./support/raw-call.js";

/** The machine that runs the tests is shared. */

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
const COUNTED = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf";

/** More than all buffers on the way hold: 4 to 8 MB including the kernel's (measured). */
const LARGE = 64 * 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, "x");

describe("a response", () => {
  let key: string;
  let destination: Destination;
  let session: ClientHttp2Session;

  beforeAll(async () => {
    ({ key } = await (await newTenant()).backEnd());
  });
  beforeEach(() => {
    session = connectHttp2(inject("serverUrl"));
    session.on("error", () => {});
  });
  afterEach(async () => {
    session.destroy();
    await destination[Symbol.asyncDispose]();
  });

  const start = async (reply: Reply) => {
    destination = await startDestination(reply);
  };
  const proxied = () => [`BT-API-KEY: ${key}`, `BT-PROXY-URL: ${destination.url}`];
  const overHttp2 = (): ClientHttp2Stream => {
    const stream = session.request({ ":path": "/proxy", "bt-api-key": key, "bt-proxy-url": destination.url });
    return stream.on("error", () => {});
  };
  const overHttp1 = (): Socket => {
    const { hostname, port } = new URL(inject("serverUrl"));
    const caller = connect(Number(port), hostname).on("error", () => {});
    caller.write(`GET /proxy HTTP/1.1\r\nHost: x\r\n${proxied().join("\r\n")}\r\n\r\n`);
    return caller;
  };

  describe.each([
    ["in chunks", CHUNKED],
    ["of a known length", COUNTED],
  ])("%s that the destination breaks off", (_, begun) => {
    it.each<[string, (socket: Socket) => unknown]>([
      ["by its end", (socket) => socket.end(begun)],
      ["by a reset", (socket) => socket.write(begun, () => socket.resetAndDestroy())],
    ])("%s does not look complete over HTTP/1", async (_, reply) => {
      await start((socket) => void reply(socket));
      const received = await rawCall(["GET /proxy HTTP/1.1", ...proxied()]);
      expect(received.body.toString()).not.toMatch(/0\r\n\r\n$/);
      expect(received.body.toString().replace(/^4\r\n|\r\n$/g, "")).toMatch(/^(half)?$/);
    });

    it("does not look complete over HTTP/2", async () => {
      await start((socket) => void socket.end(begun));
      const stream = overHttp2();
      let isWhole = false;
      stream.resume().once("end", () => {
        isWhole = true;
      });
      // Not `once` of node:events, which would throw the expected error.
      await new Promise((resolve) => stream.once("close", resolve));
      expect({ isWhole, code: stream.rstCode }).toEqual({ isWhole: false, code: constants.NGHTTP2_INTERNAL_ERROR });
    });
  });

  it("releases the destination's connection when its caller over HTTP/2 disconnects", async () => {
    await start((socket) => void socket.write(CHUNKED));
    const stream = overHttp2();
    await once(stream, "data");
    stream.close(constants.NGHTTP2_CANCEL);
    await vi.waitFor(() => expect(destination.open.size).toBe(0));
  });

  it.each<[string, () => Socket | ClientHttp2Stream]>([
    ["HTTP/1", overHttp1],
    ["HTTP/2", overHttp2],
  ])("makes its destination wait for a slow reader over %s, and arrives complete", async (_, ask) => {
    let sent = 0;
    await start((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
      const more = () => {
        while (sent < LARGE) {
          sent += PIECE.length;
          if (!socket.write(PIECE)) return;
        }
        socket.off("drain", more);
      };
      socket.on("drain", more);
      more();
    });
    const caller = ask().pause();
    // It has stopped once nothing moved for half a second.
    let before = -1;
    await vi.waitFor(
      () => {
        const now = sent;
        const hasStopped = now > 0 && now === before;
        before = now;
        expect(hasStopped).toBe(true);
      },
      { interval: 500 },
    );
    expect(sent).toBeLessThan(LARGE / 2);
    let received = 0;
    caller
      .on("data", (chunk: Buffer) => {
        received += chunk.length;
      })
      .resume();
    await vi.waitFor(() => expect(received).toBeGreaterThanOrEqual(LARGE), { interval: 50 });
    caller.destroy();
  });
});
