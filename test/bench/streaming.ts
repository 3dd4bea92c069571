import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { BenchServer } from "./bench-server.js";
import { residentMemory } from "./processor-time.js";
import { say } from "./table.js";
import { makeApplication } from "./token-requests.js";

const MB = 1024 * 1024;
const SIZE = 1024 * MB;
const PIECE = Buffer.alloc(256 * 1024, 7);

/** Peak memory of the server's process while 1 GB goes through a proxy in each direction, sampled every 20 ms. */
export async function streamedMemory(server: BenchServer): Promise<void> {
  await using destination = await startSink();
  const key = await makeApplication(server, server.managementKey);
  say(`resident memory of the server at rest: ${megabytes(residentMemory(server.pid))}`);
  for (const method of ["POST", "GET"]) {
    const { most, seconds } = await watched(server, async () => {
      const headers = {
        "BT-API-KEY": key,
        "BT-PROXY-URL": destination.url,
        "Content-Type": "application/octet-stream",
      };
      const outgoing = httpRequest({ host: server.host, port: server.port, path: "/proxy", method, headers });
      const responding = once(outgoing, "response");
      if (method === "POST") await pipeline(Readable.from(pieces()), outgoing);
      else outgoing.end();
      const [response]: IncomingMessage[] = await responding;
      for await (const _ of response ?? []);
    });
    const way = method === "POST" ? "out" : "in";
    say(`resident memory while 1 GB streams ${way}: at most ${megabytes(most)}, ${seconds.toFixed(1)} s`);
  }
}

async function watched(server: BenchServer, work: () => Promise<void>) {
  let most = residentMemory(server.pid);
  const watch = setInterval(() => {
    most = Math.max(most, residentMemory(server.pid));
  }, 20);
  const startedAt = performance.now();
  try {
    await work();
    return { most, seconds: (performance.now() - startedAt) / 1_000 };
  } finally {
    clearInterval(watch);
  }
}

function* pieces(): Generator<Buffer> {
  for (let sent = 0; sent < SIZE; sent += PIECE.length) yield PIECE;
}

/** A destination that discards posted bodies and returns 1 GB to GET. */
async function startSink(): Promise<AsyncDisposable & { readonly url: string }> {
  const sink: Server = createServer(async (request, response) => {
    for await (const _ of request);
    if (request.method === "POST") response.end("taken");
    else await pipeline(Readable.from(pieces()), response).catch(() => {});
  });
  sink.listen(0, "127.0.0.1");
  await once(sink, "listening");
  const address = sink.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      sink.close();
      await once(sink, "close");
    },
  };
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / MB)} MB`;
}
