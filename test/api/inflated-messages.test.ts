import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:http2";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CreateTokenRequestSchema, TokenSchema, TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import { createVisits } from "../../src/api/browser/visits.js";
import { CONNECTION_LIMITS } from "../../src/api/connection/connection-limits.js";
import { createMultiProtocolServer, type MultiProtocolServer } from "../../src/api/connection/multi-protocol-server.js";
import type { Observation } from "../../src/api/observation/observation.js";
import type { Pipeline } from "../../src/api/pipeline/pipeline.js";
import { createRpcPort } from "../../src/api/rpc/rpc-port.js";
import { rpcOptions } from "../../src/api/rpc/rpc-routes.js";
import { newTenantId } from "../../src/base/ids.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { toValue } from "../../src/services/value.js";
import { keyProof, withMemory } from "../support/memory.js";

const MB = 1024 * 1024;
const budget = new MemoryBudget(5 * MB);
const free = budget.large.left;
let port: MultiProtocolServer;
let url: string;

beforeAll(async () => {
  const pipeline: Pipeline = {
    method: {
      desc: TokenService.method.createToken,
      serve: () => Promise.reject(new Error("is not called")),
      headersOf: () => [],
      replay: undefined,
      shownToFrame: (message) => message,
    },
    takesMask: false,
    admit: async (head) => {
      if (!head.header("x-no-key")) head.memory.prove(keyProof(newTenantId()));
      return { head, caller: undefined, renew: async () => undefined };
    },
    admitCaller: () => Promise.reject(new Error("is not called")),
    run: async () => {
      const message = create(TokenSchema, { id: "served" });
      return { message, headers: [], accepted: false, verbatim: undefined, lasting: () => message };
    },
  };
  const observation: Observation = {
    ...{ caller: undefined, tenantId: undefined },
    ...{ end: () => {}, fail: () => {}, failFunction: () => {}, breakOff: () => {}, cancel: () => {} },
  };
  const limits = { messageBytes: 5 * MB, maxDeadlineMs: 10_000 };
  const visits = createVisits({ address: () => "http://127.0.0.1:8080", readAddress: () => "", readNetwork: () => "" });
  const options = rpcOptions(
    [TokenService],
    [pipeline],
    { pipelines: [], draining: new AbortController().signal },
    { limits, observe: () => observation, visits, others: () => {} },
  );
  const rpc = createRpcPort(options, async () => {}, new Map());
  port = createMultiProtocolServer(
    (request, response) => {
      withMemory(request, response, budget);
      if (request.headers["x-crowded"]) takeUpLargePool(response);
      rpc(request, response);
    },
    CONNECTION_LIMITS,
    undefined,
  );
  port.server.listen(0, "127.0.0.1");
  await once(port.server, "listening");
  url = `http://127.0.0.1:${Object(port.server.address()).port}`;
});
afterAll(() => {
  port.server.close();
  port.destroy();
});

/** Bodies of other callers leave no memory for a large one until this one waits for it or is answered. */
function takeUpLargePool(response: ServerResponse): void {
  const taken = budget.large.left - MB;
  expect(budget.large.tryReserve([], taken)).toBe(true);
  const release = () => {
    clearInterval(look);
    budget.large.release([], taken);
    response.off("close", release);
  };
  const look = setInterval(() => {
    if (budget.large.waiting > 0) release();
  }, 5);
  response.once("close", release);
}

type Compress = (bytes: Uint8Array) => Buffer;
const COMPRESSIONS: readonly (readonly [string, Compress])[] = [
  ["gzip", gzipSync],
  ["br", (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })],
];

const compressedFrame = (message: Uint8Array) => encodeEnvelope(1, message);

const PROTOCOLS = [
  ["Connect", "application/proto", "content-encoding", (bytes: Buffer) => bytes],
  ["gRPC", "application/grpc", "grpc-encoding", compressedFrame],
  ["gRPC-Web", "application/grpc-web", "grpc-encoding", compressedFrame],
] as const;

const CASES = PROTOCOLS.flatMap(([protocol, type, header, frame]) =>
  COMPRESSIONS.map(([name, compress]) => {
    const send = (message: Uint8Array, more = {}) =>
      call({ "content-type": type, [header]: name, te: "trailers", ...more }, frame(compress(message)));
    const sendSpoiled = () =>
      call({ "content-type": type, [header]: name, te: "trailers" }, frame(Buffer.from("spoiled")));
    return [name, protocol, send, sendSpoiled] as const;
  }),
);

/** The whole response, with headers and trailers. */
async function call(headers: Record<string, string>, body: Uint8Array): Promise<string> {
  const session = connect(url);
  try {
    const stream = session.request({
      ":method": "POST",
      ":path": "/cloakroom.v1.TokenService/CreateToken",
      ...headers,
    });
    let said = "";
    stream.on("response", (received) => (said += JSON.stringify(received)));
    stream.on("trailers", (received) => (said += JSON.stringify(received)));
    stream.on("data", (chunk: Buffer) => (said += chunk.toString("latin1")));
    stream.end(body);
    await once(stream, "end");
    return said;
  } finally {
    session.destroy();
  }
}

const messageOf = (bytes: number, values?: number) => {
  const data = toValue(values === undefined ? "x".repeat(bytes) : Array.from({ length: values }, () => 1));
  return toBinary(CreateTokenRequestSchema, create(CreateTokenRequestSchema, { type: "token", data }));
};

/** Compresses to three quarters: base64 has 64 of 256 characters. */
const incompressible = (bytes: number) =>
  toBinary(
    CreateTokenRequestSchema,
    create(CreateTokenRequestSchema, { data: toValue(randomBytes((bytes * 3) / 4).toString("base64")) }),
  );

const CROWDED = { "x-crowded": "1" };

describe.each(CASES)("a message in %s over %s", (_compression, _protocol, send, sendSpoiled) => {
  it("is read while there is memory for its inflated size", async () => {
    expect(await send(messageOf(60_000), CROWDED)).toContain("served");
  });

  it("waits while the memory is in use, and is served", async () => {
    expect(await send(messageOf(3 * MB), CROWDED)).toContain("served");
    expect(await send(incompressible(3 * MB), CROWDED)).toContain("served");
    expect(budget.large.left).toBe(free);
  });

  it("is rejected while the memory is in use if its caller has no key", async () => {
    const said = await send(messageOf(3 * MB), { ...CROWDED, "x-no-key": "1" });
    expect(said).not.toContain("served");
    expect(said).toMatch(/Your(?: |%20)share(?: |%20)of(?: |%20)the(?: |%20)memory/);
    expect(await send(messageOf(3 * MB))).toContain("served");
  });

  it("is rejected if it inflates to more bytes than a message may have", async () => {
    expect(await send(messageOf(6 * MB))).toMatch(/must(?: |%20)not(?: |%20)be(?: |%20)larger(?: |%20)than/);
  });

  it("is rejected if it inflates to more values than a message may have", async () => {
    expect(await send(messageOf(0, 50_001))).toMatch(
      /must(?: |%20)hold(?: |%20)at(?: |%20)most(?: |%20)50000(?: |%20)val/,
    );
    expect(await send(messageOf(0, 40_000))).toContain("served");
  });

  it("is rejected if it cannot be inflated", async () => {
    expect(await sendSpoiled()).toMatch(/must(?: |%20)be(?: |%20)a(?: |%20)valid(?: |%20)message/);
  });
});
