import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { dataFrame, hasWindowUpdate, headersFrame, PREFACE, resetFrame } from "../../support/http2-frames.js";
import { newTenant } from "../../support/tenant.js";

/** Codes of RFC 9113, 7. */
const NO_ERROR = 0;
const CANCEL = 8;

/** The machine that runs the tests is shared. */

/** More than the server reads of a body before it sends the request. */
const MUCH = Buffer.alloc(70_000, 0x80);
/** Less than an HTTP/2 connection accepts before it opens the window further. */
const SOME = MUCH.subarray(0, 15_000);

describe("a request whose caller breaks off within its body", () => {
  let key: string;
  let destination: Server;
  let url: string;
  let received: string;
  let isOver: boolean;
  let caller: Socket;
  /** What the caller's connection has received. */
  let heard: Buffer;

  beforeAll(async () => {
    ({ key } = await (await newTenant()).backEnd());
  });
  beforeEach(async () => {
    received = "";
    isOver = false;
    destination = createServer((socket) => {
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString("latin1");
      });
      socket
        .on("error", () => {})
        .once("close", () => {
          isOver = true;
        });
    });
    destination.listen(0, "127.0.0.1");
    await once(destination, "listening");
    const address = destination.address();
    url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
    const { hostname, port } = new URL(inject("serverUrl"));
    caller = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    heard = Buffer.alloc(0);
    caller
      .on("error", () => {})
      .on("data", (chunk: Buffer) => {
        heard = Buffer.concat([heard, chunk]);
      });
  });
  afterEach(async () => {
    caller.destroy();
    destination.close();
    await once(destination, "close");
  });

  const head = (framing: string) =>
    `POST /proxy HTTP/1.1\r\nHost: x\r\nBT-API-KEY: ${key}\r\nBT-PROXY-URL: ${url}\r\n${framing}\r\n\r\n`;
  /** The window of HTTP/2 is 64 KB at first, and the server says when there is more. */
  const overHttp2 = async () => {
    caller.write(Buffer.concat([startOverHttp2(), ...[1, 2, 3].map(() => dataFrame(1, SOME))]));
    await vi.waitFor(() => expect(hasWindowUpdate(heard, 1)).toBe(true));
    caller.write(Buffer.concat([dataFrame(1, SOME), dataFrame(1, SOME), dataFrame(1, "half")]));
  };
  const startOverHttp2 = () =>
    Buffer.concat([
      PREFACE,
      headersFrame(1, [
        [":method", "POST"],
        [":scheme", "http"],
        [":path", "/proxy"],
        [":authority", "x"],
        ["bt-api-key", key],
        ["bt-proxy-url", url],
      ]),
    ]);
  const inChunks = () =>
    caller.write(
      Buffer.concat([
        Buffer.from(`${head("Transfer-Encoding: chunked")}${MUCH.length.toString(16)}\r\n`),
        MUCH,
        Buffer.from("\r\n4\r\nhalf\r\n"),
      ]),
    );
  const inKnownLength = () =>
    caller.write(Buffer.concat([Buffer.from(head(`Content-Length: ${MUCH.length + 8}`)), MUCH, Buffer.from("half")]));

  it.each<[string, () => unknown, () => unknown]>([
    ["chunks, by a reset", inChunks, () => caller.resetAndDestroy()],
    ["chunks, by its end", inChunks, () => caller.end()],
    ["chunks, by a wrong one", inChunks, () => caller.write("no\r\n")],
    ["a known length, by its end", inKnownLength, () => caller.end()],
    ["HTTP/2, by a cancelled stream", overHttp2, () => caller.write(resetFrame(1, CANCEL))],
    ["HTTP/2, by a stream reset without an error", overHttp2, () => caller.write(resetFrame(1, NO_ERROR))],
    ["HTTP/2, by the end of the connection", overHttp2, () => caller.end()],
    ["HTTP/2, by a cut connection", overHttp2, () => caller.destroy()],
  ])("in %s does not look complete to the destination", async (_, start, breakOff) => {
    await start();
    await vi.waitFor(() => expect(received).toContain("half"));
    breakOff();
    await vi.waitFor(() => expect(isOver).toBe(true));
    expect(received).not.toMatch(/half\r\n0\r\n/);
    expect(received.endsWith("half") || received.endsWith("half\r\n")).toBe(true);
  });

  it("is not sent at all while the beginning is read, which may contain references", async () => {
    const asked = vi.fn();
    destination.on("connection", asked);
    caller.write(`${head("Transfer-Encoding: chunked")}4\r\nhalf\r\n`);
    caller.resetAndDestroy();
    const { hostname, port } = new URL(inject("serverUrl"));
    // The server has finished the first request once it has answered a later one.
    expect((await fetch(`http://${hostname}:${port}/healthz`)).status).toBe(200);
    expect(asked).not.toHaveBeenCalled();
  });
});
