import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { dataFrame, headersFrame, PREFACE, resetFrame } from "../../support/http2-frames.js";
import { newTenant } from "../../support/tenant.js";

/** Codes of RFC 9113, 7. */
const NO_ERROR = 0;
const CANCEL = 8;

/** The machine that runs the tests is shared. */
const PATIENCE = { timeout: 10_000 };

describe("a request whose caller breaks off within its body", () => {
  let key: string;
  let destination: Server;
  let url: string;
  let received: string;
  let isOver: boolean;
  let caller: Socket;

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
    caller.on("error", () => {}).resume();
  });
  afterEach(async () => {
    caller.destroy();
    destination.close();
    await once(destination, "close");
  });

  const head = (framing: string) =>
    `POST /proxy HTTP/1.1\r\nHost: x\r\nBT-API-KEY: ${key}\r\nBT-PROXY-URL: ${url}\r\n${framing}\r\n\r\n`;
  const overHttp2 = () =>
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
      dataFrame(1, "half"),
    ]);

  it.each<[string, () => string | Buffer, () => unknown]>([
    ["chunks, by a reset", () => `${head("Transfer-Encoding: chunked")}4\r\nhalf\r\n`, () => caller.resetAndDestroy()],
    ["chunks, by its end", () => `${head("Transfer-Encoding: chunked")}4\r\nhalf\r\n`, () => caller.end()],
    [
      "chunks, by a wrong one",
      () => `${head("Transfer-Encoding: chunked")}4\r\nhalf\r\n`,
      () => caller.write("no\r\n"),
    ],
    ["a known length, by its end", () => `${head("Content-Length: 8")}half`, () => caller.end()],
    ["HTTP/2, by a cancelled stream", overHttp2, () => caller.write(resetFrame(1, CANCEL))],
    ["HTTP/2, by a stream reset without an error", overHttp2, () => caller.write(resetFrame(1, NO_ERROR))],
    ["HTTP/2, by the end of the connection", overHttp2, () => caller.end()],
    ["HTTP/2, by a cut connection", overHttp2, () => caller.destroy()],
  ])("in %s is no whole request at the destination", async (_, start, breakOff) => {
    caller.write(start());
    await vi.waitFor(() => expect(received).toContain("half"), PATIENCE);
    breakOff();
    await vi.waitFor(() => expect(isOver).toBe(true), PATIENCE);
    expect(received).not.toMatch(/half\r\n0\r\n/);
    expect(received.endsWith("half") || received.endsWith("half\r\n")).toBe(true);
  });
});
