import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CONNECTION_LIMITS } from "../../../../src/api/connection/connection-limits.js";
import {
  createMultiProtocolServer,
  type MultiProtocolServer,
} from "../../../../src/api/connection/multi-protocol-server.js";
import { StreamRequest, StreamResponse } from "../../../../src/api/connection/stream-exchange.js";
import { readCallBody } from "../../../../src/api/rpc/unary-fast-path/call-body.js";
import { BodyTooLarge } from "../../../../src/memory/body-errors.js";
import { collectBody } from "../../../../src/memory/collect-body.js";
import { UNLIMITED_MEMORY } from "../../../support/unlimited-memory.js";

const MAX_BYTES = 1_000;

let port: MultiProtocolServer;
let session: ClientHttp2Session;
/** Resolves when the server has the headers of the next request. */
let headersArrived: PromiseWithResolvers<void>;

/** Responds with the number of bytes, and whether they were taken at once. */
async function listener(
  request: IncomingMessage | StreamRequest,
  response: { end(text: string): unknown },
): Promise<void> {
  headersArrived.resolve();
  const { stream, announced, hasArrived = false } = await readCallBody(request);
  try {
    const limits = { maxBytes: MAX_BYTES, announced, hasArrived };
    const { length } = await collectBody(stream, UNLIMITED_MEMORY, limits);
    response.end(`${length} ${hasArrived ? "at once" : "as a stream"}`);
  } catch (error) {
    response.end(error instanceof BodyTooLarge ? "too large" : "incomplete");
  }
}

const post = () => session.request({ ":method": "POST", ":path": "/" });

async function textOf(stream: ClientHttp2Stream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += chunk;
  return text;
}

describe.each([
  ["a stream of HTTP/2", true],
  ["a request of Node", false],
])("%s", (_, isPastRequests) => {
  beforeEach(async () => {
    headersArrived = Promise.withResolvers();
    port = createMultiProtocolServer(listener, CONNECTION_LIMITS, undefined, (stream, headers, rawHeaders) => {
      if (!isPastRequests) return false;
      const response = new StreamResponse(stream);
      const end = (text: string) => {
        response.writeHead(200);
        response.addTrailers({});
        response.end(text);
      };
      void listener(new StreamRequest(stream, headers, rawHeaders), { end });
      return true;
    });
    port.server.listen(0, "127.0.0.1");
    await once(port.server, "listening");
    session = connect(`http://127.0.0.1:${Object(port.server.address()).port}`);
    await once(session, "remoteSettings");
  });
  afterEach(() => {
    session.destroy();
    port.server.close();
    port.destroy();
  });

  it("takes a message that comes with its headers at once", async () => {
    const stream = post();
    stream.end(Buffer.alloc(100));
    expect(await textOf(stream)).toBe("100 at once");
  });

  it("takes a message that comes in pieces with its headers as a whole", async () => {
    const stream = post();
    stream.write(Buffer.alloc(100));
    stream.end(Buffer.alloc(50));
    expect(await textOf(stream)).toMatch(/^150 /);
  });

  it("reads a message that comes after its headers as a stream", async () => {
    const stream = post();
    await headersArrived.promise;
    // Its turn of the event loop has ended once the server has answered a ping.
    await new Promise((resolve) => session.ping(resolve));
    stream.write(Buffer.alloc(100));
    stream.end(Buffer.alloc(50));
    expect(await textOf(stream)).toBe("150 as a stream");
  });

  it("reads a request without a body", async () => {
    const stream = post();
    stream.end();
    expect(await textOf(stream)).toBe("0 as a stream");
  });

  it("refuses a message that is larger than its limit", async () => {
    const stream = post();
    stream.end(Buffer.alloc(MAX_BYTES + 1));
    expect(await textOf(stream)).toBe("too large");
  });
});
