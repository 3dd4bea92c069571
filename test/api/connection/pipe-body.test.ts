import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pipeBody } from "../../../src/api/connection/pipe-body.js";

const READER = new AbortController().signal;

describe("a forwarded body", () => {
  let server: Server;
  let response: ServerResponse;
  let incoming: Promise<IncomingMessage>;

  beforeEach(async () => {
    server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const asked = get({ port: typeof address === "object" && address ? address.port : 0, host: "127.0.0.1" });
    incoming = once(asked, "response").then(([message]) => message);
    // A test may end before there is a response.
    asked.on("error", () => {});
    incoming.catch(() => {});
    [, response] = await once(server, "request");
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it("arrives whole and leaves the response open", async () => {
    response.writeHead(200);
    await pipeBody(Readable.from([Buffer.from("one, "), Buffer.from("two")], { objectMode: false }), response, READER);
    expect(response.writableEnded).toBe(false);
    response.end(", three");
    const chunks: Buffer[] = [];
    for await (const chunk of await incoming) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe("one, two, three");
  });

  it("fails if it breaks off, with or without a reason", async () => {
    for (const reason of [new Error("reset"), undefined]) {
      const body = new Readable({ read() {} }).on("error", () => {});
      const passing = pipeBody(body, response, READER);
      body.push("half");
      setImmediate(() => body.destroy(reason));
      await expect(passing).rejects.toThrow(reason?.message ?? "The body was cut off.");
    }
  });

  it("fails if it had already broken off", async () => {
    const body = new Readable({ read() {} }).on("error", () => {}).destroy();
    await expect(pipeBody(body, response, READER)).rejects.toThrow("The body was cut off.");
    expect(body.closed).toBe(true);
    await expect(pipeBody(body, response, READER)).rejects.toThrow("The body was cut off.");
  });

  it("is cancelled when its reader disconnects, also if that happened before", async () => {
    const [first, second] = [new Readable({ read() {} }), new Readable({ read() {} })];
    const passing = pipeBody(first, response, READER);
    response.destroy();
    await expect(passing).rejects.toThrow("The body was cut off.");
    await expect(pipeBody(second, response, AbortSignal.abort())).rejects.toThrow("The body was cut off.");
    expect([first.destroyed, second.destroyed]).toEqual([true, true]);
  });

  it("reads no more than its reader consumes", async () => {
    let given = 0;
    const body = new Readable({
      read() {
        given += 65_536;
        this.push(given > 64 * 1_048_576 ? null : Buffer.alloc(65_536));
      },
    });
    response.writeHead(200);
    const passing = pipeBody(body, response, READER);
    const message = await incoming;
    while (!body.isPaused()) await new Promise((resolve) => setImmediate(resolve));
    expect(response.writableNeedDrain).toBe(true);
    let received = 0;
    message.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    await passing;
    response.end();
    await once(message, "end");
    expect(received).toBe(64 * 1_048_576);
  });
});
