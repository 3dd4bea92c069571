// Computes: 15 s
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { residentMemory } from "../../bench/processor-time.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant } from "../../support/tenant.js";

const MB = 1024 * 1024;
const SIZE = 300 * MB;
/** Measured: 20 to 90 MB of chunks waiting for garbage collection, the same for 300 MB as for 900 MB. */
const MAX_GROWTH = 128 * MB;
const PIECE = Buffer.alloc(256 * 1024, 7);

function* pieces(): Generator<Buffer> {
  for (let sent = 0; sent < SIZE; sent += PIECE.length) yield PIECE;
}

describe("bodies that are not inspected", () => {
  let server: ServerProcess;
  let destination: Server;
  let url: string;
  let key: string;
  let received = 0;

  beforeAll(async () => {
    server = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1" });
    ({ key } = await (await firstTenant(server)).backEnd());
    destination = createServer(async (request, response) => {
      received = 0;
      for await (const chunk of request) received += chunk.length;
      if (request.method === "POST") response.end("taken");
      else await pipeline(Readable.from(pieces()), response).catch(() => {});
    });
    destination.listen(0, "127.0.0.1");
    await once(destination, "listening");
    const address = destination.address();
    url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  });
  afterAll(async () => {
    destination.closeAllConnections();
    destination.close();
    await server[Symbol.asyncDispose]();
  });

  /** Sends a request through the server and returns the growth of its memory meanwhile. */
  const measured = async <T>(
    method: string,
    headers: Record<string, string>,
    use: (response: IncomingMessage) => Promise<T>,
  ) => {
    const before = residentMemory(server.process.pid ?? 0);
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, residentMemory(server.process.pid ?? 0));
    }, 50);
    try {
      const outgoing = httpRequest(`${server.url}/proxy`, {
        method,
        headers: { "BT-API-KEY": key, "BT-PROXY-URL": url, "Content-Type": "application/octet-stream", ...headers },
      });
      const responding = once(outgoing, "response");
      if (method === "POST") await pipeline(Readable.from(pieces()), outgoing);
      else outgoing.end();
      const [response]: IncomingMessage[] = await responding;
      if (!response) throw new Error("no response");
      return { result: await use(response), growth: most - before };
    } finally {
      clearInterval(watch);
    }
  };
  const textOf = async (response: IncomingMessage) => {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };

  it.each([
    ["of a known length", { "Content-Length": String(SIZE) }],
    ["in chunks", {}],
  ])("stream out %s in constant memory", async (_, headers) => {
    const { result, growth } = await measured("POST", headers, textOf);
    expect([result, received]).toEqual(["taken", SIZE]);
    expect(growth).toBeLessThan(MAX_GROWTH);
  });

  it("stream in with constant memory, also to a slow caller", async () => {
    const { result, growth } = await measured("GET", {}, async (response) => {
      let bytes = 0;
      for await (const chunk of response) {
        bytes += chunk.length;
        // The beginning is read slowly, so everything after it has to wait.
        if (bytes < 2 * MB) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return bytes;
    });
    expect(result).toBe(SIZE);
    expect(growth).toBeLessThan(MAX_GROWTH);
  });
});
