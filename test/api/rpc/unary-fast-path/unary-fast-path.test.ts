import { once } from "node:events";
import type { RequestListener } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { create, type Message, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GetTokenRequestSchema, TokenSchema, TokenService } from "../../../../gen/cloakroom/v1/tokens_pb.js";
import { createVisits } from "../../../../src/api/browser/visits.js";
import { CONNECTION_LIMITS } from "../../../../src/api/connection/connection-limits.js";
import {
  createMultiProtocolServer,
  type MultiProtocolServer,
  type StreamListener,
} from "../../../../src/api/connection/multi-protocol-server.js";
import { StreamRequest, StreamResponse } from "../../../../src/api/connection/stream-exchange.js";
import type { Observation } from "../../../../src/api/observation/observation.js";
import type { MethodResponse, Pipeline } from "../../../../src/api/pipeline/pipeline.js";
import { createUnaryFastPath } from "../../../../src/api/rpc/unary-fast-path/unary-fast-path.js";
import { Fault } from "../../../../src/base/fault.js";
import { withMemory } from "../../../support/memory.js";

/** Milliseconds. */
const MAX_DEADLINE_LENGTH = 50;

let port: MultiProtocolServer;
let session: ClientHttp2Session;
/** Whether calls are served past Node's requests, as gRPC is. */
let pastRequests: boolean;
afterEach(() => {
  session.destroy();
  port.server.close();
  port.destroy();
});

/** The outcome of a call whose method ends like this: its trailers, or that its stream ended without any. */
async function callOf(run: Pipeline["run"], headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const pipeline: Pipeline = {
    method: {
      desc: TokenService.method.getToken,
      serve: () => Promise.reject(new Error("is not called")),
      headersOf: () => [],
      replay: undefined,
      shownToFrame: (message) => message,
    },
    takesMask: false,
    admit: async (head) => ({ head, caller: undefined, renew: async () => undefined }),
    admitCaller: () => Promise.reject(new Error("is not called")),
    run,
  };
  const observation: Observation = {
    ...{ caller: undefined, tenantId: undefined },
    ...{ end: () => {}, fail: () => {}, failFunction: () => {}, breakOff: () => {}, cancel: () => {} },
  };
  const visits = createVisits({ address: () => "http://127.0.0.1:8080", readAddress: () => "", readNetwork: () => "" });
  const fastPath = createUnaryFastPath(
    [pipeline],
    { messageBytes: 1_000, maxDeadlineMs: MAX_DEADLINE_LENGTH },
    { observe: () => observation, visits, begin: async () => {} },
  );
  const listener: RequestListener = (request, response) => {
    withMemory(request, response);
    fastPath(request)?.(response);
  };
  const streamListener: StreamListener = (stream, headers, rawHeaders) => {
    const request = new StreamRequest(stream, headers, rawHeaders);
    const response = new StreamResponse(stream);
    withMemory(request, response);
    fastPath(request)?.(response);
    return true;
  };
  port = createMultiProtocolServer(listener, CONNECTION_LIMITS, undefined, pastRequests ? streamListener : undefined);
  port.server.listen(0, "127.0.0.1");
  await once(port.server, "listening");
  session = connect(`http://127.0.0.1:${Object(port.server.address()).port}`);
  const stream = session.request({
    ...{ ":method": "POST", ":path": "/cloakroom.v1.TokenService/GetToken" },
    ...{ "content-type": "application/grpc", te: "trailers", ...headers },
  });
  let told = "nothing";
  stream.on("trailers", (trailers) => (told = `${trailers["grpc-status"]} ${trailers["grpc-message"]}`));
  stream.on("error", () => {}).resume();
  const message = toBinary(GetTokenRequestSchema, create(GetTokenRequestSchema, { id: "1" }));
  stream.end(encodeEnvelope(0, message));
  await once(stream, "close");
  return told;
}

function responseOf(message: Message): MethodResponse {
  return { message, headers: [], accepted: false, verbatim: undefined, lasting: () => message };
}

/** A method that runs longer than the longest deadline unless it is aborted. */
const slow: Pipeline["run"] = ({ head: { signal } }) =>
  new Promise((resolve, reject) => {
    const end = setTimeout(() => resolve(responseOf(create(TokenSchema))), 4 * MAX_DEADLINE_LENGTH);
    signal.addEventListener("abort", () => {
      clearTimeout(end);
      reject(signal.reason);
    });
  });

describe.each([
  ["on a stream of HTTP/2", true],
  ["with a request of Node", false],
])("%s", (_, isPast) => {
  beforeEach(() => {
    pastRequests = isPast;
  });
  it("a call without a deadline does not time out", async () => {
    expect(await callOf(slow)).toBe("0 undefined");
  });

  it("the deadline of a call is capped at the longest", async () => {
    expect(await callOf(slow, { "grpc-timeout": "1H" })).toBe("4 the%20operation%20timed%20out");
  });

  it("a response that cannot be serialized is an internal error", async () => {
    const message = create(TokenSchema, { createdAt: { nanos: 1 } });
    Reflect.set(message.createdAt ?? {}, "nanos", 0.5);
    expect(await callOf(async () => responseOf(message))).toBe("13 Something%20went%20wrong%20on%20our%20side.");
  });

  it("an error that cannot be serialized ends only its call", async () => {
    const half = "half of a pair: \ud800";
    expect(await callOf(() => Promise.reject(new Fault("not_found", half)))).toBe("nothing");
  });
});
